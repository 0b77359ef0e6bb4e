package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON object that keeps the order of its keys and the first of two
// equal ones.
type object struct {
	keys   []string
	values map[string]any
	taken  map[string]bool
}

func (o *object) add(key string, value any) {
	key = strings.ToValidUTF8(key, "\uFFFD")
	if !o.taken[key] {
		o.force(key, value)
	}
}

func (o *object) force(key string, value any) {
	o.reserve(key)
	o.keys = append(o.keys, key)
	if o.values == nil {
		o.values = make(map[string]any)
	}
	o.values[key] = value
}

func (o *object) reserve(keys ...string) {
	if o.taken == nil {
		o.taken = make(map[string]bool)
	}
	for _, key := range keys {
		o.taken[key] = true
	}
}

func (o *object) bytes() ([]byte, error) {
	var flat bytes.Buffer
	encoder := json.NewEncoder(&flat)
	encoder.SetEscapeHTML(false)
	flat.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			flat.WriteByte(',')
		}
		if err := encoder.Encode(key); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		flat.WriteByte(':')
		if err := encoder.Encode(o.values[key]); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	flat.WriteString("}\n")
	var out bytes.Buffer
	if err := json.Indent(&out, flat.Bytes(), "", "    "); err != nil {
		return nil, fmt.Errorf("indent: %w", err)
	}
	return out.Bytes(), nil
}
