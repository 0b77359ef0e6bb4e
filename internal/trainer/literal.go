package trainer

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"tunebench/internal/metric"
)

// Bounds on a printed dict. The parser is recursive, so that its input must be small
// and flat; the Trainer's own dicts have some 20 keys and no depth.
const (
	maxDict  = 64 << 10
	maxDepth = 32
)

// entry is one key of a printed dict. Quoted says that the number stood in quotes, as
// newer transformers print floats, rounded to four digits.
type entry struct {
	key    string
	value  metric.Value
	quoted bool
}

type dict []entry

func (d dict) get(key string) (metric.Value, bool) {
	for _, e := range d {
		if e.key == key {
			return e.value, true
		}
	}
	return metric.Value{}, false
}

func (d dict) has(keys ...string) bool {
	for _, key := range keys {
		if _, ok := d.get(key); ok {
			return true
		}
	}
	return false
}

// dictEnd returns the length of the dict that text starts with, or false where it does
// not end, is too long or too deep.
func dictEnd(text string) (int, bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < min(len(text), maxDict); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("{[(", c) >= 0:
			if depth++; depth > maxDepth {
				return 0, false
			}
		case strings.IndexByte("}])", c) >= 0:
			if depth--; depth <= 0 {
				return i + 1, depth == 0
			}
		}
	}
	return 0, false
}

// An object without a literal, such as grad_fn=<NllLossBackward0>, is printed in angle
// brackets, which no parser takes.
var object = regexp.MustCompile(`<[^<>'"]*>`)

// parseDict reads the literal of a Python dict. Nothing is evaluated: the text is
// parsed, and only literals and the calls that numpy and torch print are understood.
func parseDict(text string) (dict, error) {
	options := syntax.FileOptions{}
	expr, err := options.ParseExpr("", text, 0)
	if err != nil {
		expr, err = options.ParseExpr("", object.ReplaceAllString(text, "None"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("parse dict: %w", err)
	}
	d, ok := expr.(*syntax.DictExpr)
	if !ok {
		return nil, errors.New("parse dict: not a dict")
	}
	return entries(d), nil
}

func entries(d *syntax.DictExpr) dict {
	var out dict
	for _, item := range d.List {
		pair, ok := item.(*syntax.DictEntry)
		if !ok {
			continue
		}
		key, ok := pair.Key.(*syntax.Literal)
		if !ok || key.Token != syntax.STRING {
			continue
		}
		e := entry{key: key.Value.(string)}
		e.value, e.quoted = pyValue(pair.Value)
		out = append(out, e)
	}
	return out
}

func pyValue(x syntax.Expr) (v metric.Value, quoted bool) {
	switch x := x.(type) {
	case *syntax.Literal:
		return token(x)
	case *syntax.Ident:
		return word(x.Name), false
	case *syntax.ParenExpr:
		return pyValue(x.X)
	case *syntax.UnaryExpr:
		return signed(x), false
	case *syntax.CallExpr:
		return scalar(x)
	}
	return notNumber(""), false
}

func token(x *syntax.Literal) (metric.Value, bool) {
	switch n := x.Value.(type) {
	case int64:
		return spelled(float64(n), x.Raw), false
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return spelled(f, x.Raw), false
	case float64:
		return spelled(n, x.Raw), false
	case string:
		return quotedNumber(n)
	}
	return notNumber(x.Raw), false
}

func quotedNumber(text string) (metric.Value, bool) {
	trimmed := strings.TrimSpace(text)
	n, err := strconv.ParseFloat(trimmed, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return notNumber(text), false
	}
	return spelled(n, trimmed), true
}

func word(name string) metric.Value {
	switch name {
	case "nan", "NaN":
		return spelled(math.NaN(), name)
	case "inf", "Infinity":
		return spelled(math.Inf(1), name)
	case "None", "null":
		v := metric.Missing("reported as " + name)
		v.Text = name
		return v
	}
	return notNumber(name)
}

func signed(x *syntax.UnaryExpr) metric.Value {
	v, _ := pyValue(x.X)
	switch {
	case x.Op == syntax.PLUS:
		return v
	case x.Op != syntax.MINUS:
		return notNumber("")
	case v.Known():
		return spelled(-v.Number, "-"+v.Text)
	case isInfinite(v):
		return spelled(math.Inf(-1), "-"+v.Text)
	}
	return v
}

// The names that print one number in brackets: np.float64(2.5), tensor(0.75,
// device='cuda:0'), Array(1., dtype=float32).
var wrapper = regexp.MustCompile(`^(u?int|b?float|[Tt]ensor|[Aa]rray|Decimal|Parameter)\d*_?$`)

func scalar(x *syntax.CallExpr) (metric.Value, bool) {
	name := ""
	switch fn := x.Fn.(type) {
	case *syntax.Ident:
		name = fn.Name
	case *syntax.DotExpr:
		name = fn.Name.Name
	}
	if !wrapper.MatchString(name) || len(x.Args) == 0 {
		return notNumber(""), false
	}
	inner := x.Args[0]
	if list, ok := inner.(*syntax.ListExpr); ok && len(list.List) == 1 {
		inner = list.List[0]
	}
	return pyValue(inner)
}

func spelled(number float64, text string) metric.Value {
	v := metric.Of(number)
	v.Text = text
	return v
}

func notNumber(text string) metric.Value {
	v := metric.Missing("not a number")
	v.Text = text
	return v
}

func isInfinite(v metric.Value) bool {
	return notFinite(v) && !isNaN(v)
}

// notFinite reports whether a number was reported that is not finite, which is another
// thing than none.
func notFinite(v metric.Value) bool {
	return strings.HasPrefix(v.Gap, "not finite")
}

func isNaN(v metric.Value) bool {
	return strings.EqualFold(strings.TrimLeft(v.Text, "+-"), "nan")
}
