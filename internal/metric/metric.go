// Package metric holds the numbers that a trainer or a sampler reports, each with
// the reason where there is none.
//
// It has the value, the named metric and the ordered set of them. Where the numbers
// come from and what they mean is left to the packages that read them.
package metric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is a number, or the gap that stands in its place. The zero value is a gap, so
// that a figure that nobody set never passes for 0; a number is made by Of alone.
type Value struct {
	Number float64 // the number; meaningful only where Known says so
	Text   string  // the spelling that was read; empty for a computed number
	Gap    string  // why there is no number; empty where there is one
	known  bool
}

// notMeasured is the reason of a gap that was given none.
const notMeasured = "not measured"

// Of returns a known value. A number that is not finite is a gap: no later sum,
// mean or file can hold it without harm.
func Of(number float64) Value {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return Value{Gap: "not finite: " + strconv.FormatFloat(number, 'g', -1, 64)}
	}
	return Value{Number: number, known: true}
}

// Missing returns the gap that reason explains.
func Missing(reason string) Value {
	if reason == "" {
		reason = notMeasured
	}
	return Value{Gap: reason}
}

// Known reports whether there is a number.
func (v Value) Known() bool { return v.known }

// Equal reports whether both are the same number or the same gap, spelled alike.
func (v Value) Equal(other Value) bool {
	if v.known != other.known || v.Text != other.Text {
		return false
	}
	return v.known && v.Number == other.Number || !v.known && v.reason() == other.reason()
}

func (v Value) reason() string { return cmp.Or(v.Gap, notMeasured) }

// wholeBelow is where whole numbers cease to be written out: 2^53, up to which a float64
// holds each of them.
const wholeBelow = 1 << 53

// String returns a spelling that reads back as the same number, or nothing where there
// is none. Whole numbers are written out, since most of them are bytes that people read.
func (v Value) String() string {
	switch {
	case !v.Known():
		return ""
	case v.Number == math.Trunc(v.Number) && math.Abs(v.Number) < wholeBelow:
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	}
	return strconv.FormatFloat(v.Number, 'g', -1, 64)
}

type gapJSON struct {
	Gap  string `json:"gap"`
	Text string `json:"text,omitempty"`
}

// MarshalJSON writes a bare number, or an object with the gap.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return json.Marshal(gapJSON{Gap: v.reason(), Text: v.Text})
	}
	return json.Marshal(v.Number)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(data, &number); err == nil && string(data) != "null" {
		*v = Of(number)
		return nil
	}
	var gap gapJSON
	if err := json.Unmarshal(data, &gap); err != nil {
		return fmt.Errorf("neither a number nor a gap: %w", err)
	}
	*v = Missing(gap.Gap)
	v.Text = gap.Text
	return nil
}

// Metric is a value with its name.
type Metric struct {
	Name  string `json:"name"`
	Value Value  `json:"value"`
}

// Set is a list of metrics with unique names, in the order in which they were first seen.
type Set []Metric

// Get returns the value of that name; ok is false where the set has none.
func (s Set) Get(name string) (v Value, ok bool) {
	for _, m := range s {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Missing(name + " was not reported"), false
}

// With returns the set with the value put under that name, at its old place where
// the name is known. The receiver is not changed.
func (s Set) With(name string, v Value) Set {
	out := append(Set(nil), s...)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = v
			return out
		}
	}
	return append(out, Metric{Name: name, Value: v})
}
