package page

import (
	"os"
	"strings"

	"tunebench/internal/folder"
	"tunebench/internal/memory"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/table"
)

// beside is what the page shows of an experiment's folder beside its curves.
type beside struct {
	env  [][]string // where and with what it ran, as names with values
	tail string     // the last lines of stderr, of what did not end ok
}

// tailRead is how much of the end of stderr is looked at.
const tailRead = 64 << 10

// readBeside reads the record and the end of stderr. What cannot be read is left out: the
// table's row says what is wrong with the folder.
func readBeside(r table.Row) beside {
	root, err := folder.Open(r.Dir)
	if err != nil {
		return beside{}
	}
	defer root.Close()
	return readIn(root, r)
}

func readIn(root *os.Root, r table.Row) beside {
	var rec record.Record
	if read, err := record.ReadIn(root); err == nil {
		rec = read
	}
	b := beside{env: environment(r, rec)}
	if r.Status == outcome.OK || r.Status == outcome.Running {
		return b
	}
	if text, cut, err := folder.End(root, "stderr", tailRead); err == nil {
		b.tail = tail(text, cut)
	}
	return b
}

// environment is where and with what an experiment ran, as names with values.
func environment(r table.Row, rec record.Record) [][]string {
	var out [][]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, []string{name, value})
		}
	}
	add("host", rec.Hostname)
	add("GPU", r.Text(memory.DeviceName))
	for _, c := range r.Cells {
		if name, ok := strings.CutPrefix(c.Name, "version_"); ok && c.Kind == table.Own {
			add(name, c.String())
		}
	}
	add("tunebench", rec.Tunebench)
	return out
}
