package report

import (
	"strings"
	"unicode"
)

// code makes a code span: nothing inside it is markup, a link or a mention. The fence
// is longer than any run of backticks in the text.
func code(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	if longest == 0 {
		return "`" + text + "`"
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + text + " " + fence
}

// escape makes a text safe in a table cell. An underscore inside a word is no markup,
// so names keep theirs as they are.
func escape(text string) string {
	runes := []rune(plain(text))
	var out strings.Builder
	for i, r := range runes {
		switch {
		case r == '<':
			out.WriteString("&lt;")
			continue
		case strings.ContainsRune("\\`*|[]~", r), r == '_' && !insideWord(runes, i):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

func insideWord(runes []rune, i int) bool {
	word := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	return word(i-1) && word(i+1)
}
