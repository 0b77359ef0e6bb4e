package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"tunebench/internal/live"
	"tunebench/internal/progress"
)

// plainWidth is the width of a table where no terminal says otherwise.
const plainWidth = 80

// terminalWidth returns the columns of the terminal behind w, or plainWidth.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return plainWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 40 {
		return plainWidth
	}
	return width
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// listener chooses who hears the run: JSON on stdout where asked for, a moving line on a
// terminal, plain lines elsewhere.
func listener(s System, asJSON bool) progress.Listener {
	switch {
	case asJSON:
		return progress.NewJSON(s.Stdout)
	case isTerminal(s.Stderr) && s.Getenv("TERM") != "dumb":
		return live.New(s.Stderr, func() int { return terminalWidth(s.Stderr) })
	}
	return progress.NewPlain(s.Stderr)
}
