package cli

import (
	"github.com/agext/levenshtein"
	"github.com/spf13/pflag"
)

type flagOf = pflag.Flag

// nearest returns the candidate that was most likely meant, or nothing where none is near.
func nearest(word string, candidates []string) string {
	best, score := "", 0.6
	for _, c := range candidates {
		if s := levenshtein.Similarity(word, c, nil); s > score {
			best, score = c, s
		}
	}
	return best
}
