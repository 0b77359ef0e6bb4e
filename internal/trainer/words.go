package trainer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Words splits a command as a POSIX shell does: blanks part words, quotes and
// backslashes keep them together. What a shell would have to compute ($HOME, `date`,
// ~) or do itself (a pipe, a second command) is an error, since no shell is run.
func Words(command string) ([]string, error) {
	if plainCommand.MatchString(command) && !reserved.MatchString(command) {
		return strings.Fields(command), nil
	}
	return shellWords(command)
}

// shellWords splits any command.
func shellWords(command string) ([]string, error) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	file, err := parser.Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, fmt.Errorf("reading the command %q: %w", command, err)
	}
	call, err := onlyCall(file, command)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, word := range call.Args {
		text, err := unquote(word)
		if err != nil {
			return nil, fmt.Errorf("the command %q: %w", command, err)
		}
		out = append(out, text)
	}
	if out[0] == "" {
		return nil, fmt.Errorf("the command %q has no program", command)
	}
	return out, nil
}

// A plain command holds nothing that a shell takes for more than a letter and begins with
// none of its own words. Most commands are plain, and a plan splits one for each experiment.
var (
	plainCommand = regexp.MustCompile(`^ *[A-Za-z0-9_./-][A-Za-z0-9_./,:@%+-]*(?: +[A-Za-z0-9_./,:@%+-]+)* *$`)
	reserved     = regexp.MustCompile(`^ *(?:if|then|else|elif|fi|do|done|case|esac|while|until|for|in)(?: |$)`)
)

// onlyCall returns the one simple command in the text.
func onlyCall(file *syntax.File, command string) (*syntax.CallExpr, error) {
	if len(file.Stmts) == 0 {
		return nil, fmt.Errorf("the command %q is empty", command)
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(file.Stmts) > 1 || stmt.Background || stmt.Negated || len(stmt.Redirs) > 0 {
		return nil, fmt.Errorf("the command %q needs a shell, and none is run: quote ; | & < > ( ) or put them into a script", command)
	}
	if len(call.Assigns) > 0 {
		return nil, fmt.Errorf("the command %q sets %s: write it under env", command, call.Assigns[0].Name.Value)
	}
	return call, nil
}

// unquote returns a word without its quotes and backslashes.
func unquote(word *syntax.Word) (string, error) {
	if lit, ok := word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
		return "", errors.New("~ is not carried out: write the folder out")
	}
	var out strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			out.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", errComputed()
				}
				out.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			return "", errComputed()
		}
	}
	return out.String(), nil
}

func errComputed() error {
	return errors.New("variables and substitutions are not carried out: write the value, or quote the $ or ` with '...'")
}

// unescape drops each backslash that takes the meaning of the next character, which
// is every one outside of quotes (special is empty) and a few in double quotes. With
// the end of a line it drops both.
func unescape(text, special string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) || special != "" && !strings.ContainsRune(special, rune(text[i+1])) {
			out.WriteByte(text[i])
			continue
		}
		i++
		if text[i] != '\n' {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}
