package probe

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Ignored returns a sentence that says why the probe will not reach a command's Python,
// or nothing where no reason is seen. It looks at the first interpreter in the command,
// behind wrappers such as env or nice; options that a shell script or a file's first
// line hand on are not seen.
func Ignored(argv []string) string {
	for i, arg := range argv {
		if interpreter().MatchString(filepath.Base(arg)) {
			return ignored(arg, argv[i+1:])
		}
	}
	return ""
}

// IgnoredBy says the same of a process that runs, by its own command. Only what bears an
// interpreter's name is one: a shell that is told to start Python is none, the Python that
// it starts is a process of its own.
func IgnoredBy(argv []string) string {
	if len(argv) == 0 || !interpreter().MatchString(filepath.Base(argv[0])) {
		return ""
	}
	return ignored(argv[0], argv[1:])
}

func interpreter() *regexp.Regexp {
	return regexp.MustCompile(`^(python|pypy)([23](\.[0-9]+)?t?)?(\.exe)?$`)
}

// ignored reads the interpreter's own options, which end at the program.
func ignored(python string, args []string) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--check-hash-based-pycs":
			i++
		case strings.HasPrefix(arg, "--") && len(arg) > 2:
		case len(arg) < 2 || arg[0] != '-' || arg == "--":
			return ""
		default:
			reason, more, end := options(python, arg[1:])
			if reason != "" || end {
				return reason
			}
			i += more
		}
	}
	return ""
}

// options reads one group of single letters. More is 1 where the group's last letter
// takes the next argument; end is true where the program begins.
func options(python, letters string) (reason string, more int, end bool) {
	for i, letter := range letters {
		switch letter {
		case 'I', 'E':
			return fmt.Sprintf("%s is started with -%c and ignores %s: the probe is not in it", python, letter, PathVariable), 0, false
		case 'S':
			return fmt.Sprintf("%s is started with -S and imports no sitecustomize: the probe is not in it", python), 0, false
		case 'c', 'm':
			return "", 0, true
		case 'W', 'X':
			if i == len(letters)-1 {
				return "", 1, false
			}
			return "", 0, false
		}
	}
	return "", 0, false
}
