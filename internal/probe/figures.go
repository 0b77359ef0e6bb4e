package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"tunebench/internal/metric"
)

// figures is a JSON object of numbers, read in the order in which it is written. What is
// no number becomes a gap that keeps the text.
type figures metric.Set

// UnmarshalJSON reads an object; null is an empty one. A name that comes twice keeps its
// first place and its last value.
func (f *figures) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.New("figures are not an object")
	}
	var set metric.Set
	for dec.More() {
		name, value, err := figure(dec)
		if err != nil {
			return err
		}
		set = set.With(name, value)
	}
	*f = figures(set)
	return nil
}

func figure(dec *json.Decoder) (name string, value metric.Value, err error) {
	key, err := dec.Token()
	if err != nil {
		return "", metric.Value{}, err
	}
	name, ok := key.(string)
	if !ok {
		return "", metric.Value{}, fmt.Errorf("figure without a name: %v", key)
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return "", metric.Value{}, err
	}
	return name, valueOf(raw), nil
}

// valueOf reads a number, a gap, or the text that stands for a number JSON cannot spell.
func valueOf(raw json.RawMessage) metric.Value {
	var v metric.Value
	if json.Unmarshal(raw, &v) == nil {
		return v
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return metric.Value{Gap: "not a number", Text: string(raw)}
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return metric.Value{Gap: "not finite: " + text, Text: text}
	}
	return metric.Value{Gap: "not a number", Text: text}
}
