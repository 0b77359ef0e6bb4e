package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tunebench/internal/unit"
)

// Unit is the unit that a table shows memory in. Its zero value is GiB.
type Unit struct {
	name   string
	size   float64
	digits int
}

func units() []Unit {
	return []Unit{{"GiB", float64(unit.GiB), 2}, {"GB", float64(unit.GB), 2}, {"MiB", float64(unit.MiB), 0}, {"B", 1, 0}}
}

// ParseUnit reads GiB, GB, MiB or B; an empty text is GiB.
func ParseUnit(text string) (Unit, error) {
	if text == "" {
		return Unit{}, nil
	}
	for _, u := range units() {
		if strings.EqualFold(u.name, text) {
			return u, nil
		}
	}
	return Unit{}, fmt.Errorf("%q is no unit of memory (GiB, GB, MiB or B)", text)
}

func (u Unit) orDefault() Unit {
	if u.size == 0 {
		return units()[0]
	}
	return u
}

// String returns the unit's name.
func (u Unit) String() string { return u.orDefault().name }

// Size returns the unit in bytes.
func (u Unit) Size() float64 { return u.orDefault().size }

// Format scales bytes, without the unit's name. A little memory is not shown as none.
func (u Unit) Format(bytes float64) string {
	u = u.orDefault()
	n := bytes / u.size
	least := math.Pow10(-u.digits)
	if n != 0 && math.Abs(n) < least/2 {
		return "<" + strconv.FormatFloat(least, 'f', u.digits, 64)
	}
	return strconv.FormatFloat(n, 'f', u.digits, 64)
}
