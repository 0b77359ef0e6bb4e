package plot

import (
	"strconv"
	"strings"
)

// maxFileName is how many bytes of a name stand in a file's name.
const maxFileName = 80

// fileNames turns names, which may be any text, into file names that differ from one
// another, on file systems too that take a for A. They hold letters, digits, point, minus
// and underscore, and begin with a letter or a digit.
func fileNames(names []string) []string {
	taken := map[string]bool{}
	out := make([]string, len(names))
	for i, name := range names {
		base := fileName(name)
		out[i] = base
		for n := 2; taken[strings.ToLower(out[i])]; n++ {
			out[i] = base + "_" + strconv.Itoa(n)
		}
		taken[strings.ToLower(out[i])] = true
	}
	return out
}

func fileName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, name)
	safe = strings.TrimLeft(safe, "._-")
	if len(safe) > maxFileName {
		safe = safe[:maxFileName]
	}
	if safe == "" {
		return "unnamed"
	}
	return safe
}
