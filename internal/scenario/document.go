package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// reader reads one file and collects what is wrong with it.
type reader struct {
	file     string
	lines    int
	problems []Problem
	flat     map[*yaml.Node][]entry // maps that were read already, merge keys included
}

func newReader(data []byte, file string) *reader {
	return &reader{file: file, lines: countLines(data), flat: map[*yaml.Node][]entry{}}
}

// countLines counts as editors do: an end of line at the end of the file opens none.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return max(n, 1)
}

// place keeps a position inside the file: the end of the input may be reported as
// the line after the last, and some marks are unknown.
func (r *reader) place(line, column int) Position {
	return Position{File: r.file, Line: min(max(line, 1), r.lines), Column: max(column, 1)}
}

func (r *reader) at(n *yaml.Node) Position { return r.place(n.Line, n.Column) }

func (r *reader) complain(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, r.at(n).Problem(format, args...))
}

// document returns the root of the one document in the data, or nil where the file
// holds nothing or could not be read.
func (r *reader) document(data []byte) *yaml.Node {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.problems = append(r.problems, r.place(1, 1).Problem("the file is UTF-16, save it as UTF-8"))
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.unreadable(data, err)
		return nil
	}
	var document, second yaml.Node
	if err := loader.Load(&document); err != nil {
		if !errors.Is(err, io.EOF) {
			r.unreadable(data, err)
		}
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.complain(&second, "a second document: the file must hold one")
	case !errors.Is(err, io.EOF):
		r.unreadable(data, err)
	}
	return root(&document)
}

func root(document *yaml.Node) *yaml.Node {
	if document.Kind != yaml.DocumentNode {
		return document
	}
	if len(document.Content) == 0 || isNull(document.Content[0]) {
		return nil
	}
	return document.Content[0]
}

// unreadable reports a syntax error at its place.
func (r *reader) unreadable(data []byte, err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.problems = append(r.problems, r.place(1, 1).Problem("not YAML: %v", err))
		return
	}
	message := load.Message
	if load.ContextMsg != "" {
		message += " " + load.ContextMsg
		if line := load.ContextMark.Line; line > 0 && line != load.Mark.Line {
			message += fmt.Sprintf(" that began in line %d", line)
		}
	}
	where := r.place(load.Mark.Line, load.Mark.Column)
	if load.Mark.Line == 0 {
		where = r.firstBadCharacter(data)
	}
	r.problems = append(r.problems, where.Problem("not YAML: %s", message))
}

// firstBadCharacter finds the character that the library refused without a place.
func (r *reader) firstBadCharacter(data []byte) Position {
	line, column := 1, 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c == utf8.RuneError && size == 1, isForbidden(c):
			return r.place(line, column)
		}
		column++
		data = data[size:]
	}
	return r.place(1, 1)
}

func isForbidden(c rune) bool {
	return c < ' ' && !strings.ContainsRune("\t\r\n", c) || c >= 0x7f && c < 0xa0 && c != 0x85
}
