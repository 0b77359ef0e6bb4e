package experiment

import (
	"strconv"
	"strings"
)

// Number returns the N of a folder named exp_N; ok is false for any other name, such as
// that of a copy.
func Number(name string) (n uint64, ok bool) {
	digits, found := strings.CutPrefix(name, "exp_")
	if !found || digits == "" || digits[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}
