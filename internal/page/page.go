// Package page makes the report that is read in a browser: one file that needs nothing
// else, neither a server nor a network.
//
// It has the data of the page (data.go, ledger.go), what else the page shows of each
// row's folder (curves.go, beside.go, tail.go), and the file that holds all of it
// (html.go). All that comes from a results folder stands in one block of JSON, which
// the script puts into the page as text only. Serving the same page while a matrix runs
// is left to package web, reading the logs to package timeline, the CSV files and the Markdown
// to package report.
package page

import (
	"encoding/json"
	"fmt"
	"io"

	"tunebench/internal/table"
	"tunebench/internal/timeline"
	"tunebench/internal/view"
)

// FileName is the name of the page among the files of a report.
const FileName = "report.html"

// Options says how the page shows what it has at first; a reader may change it there.
type Options struct {
	Unit view.Unit // of memory
}

// Write writes the page with the data of all rows inside. An error is one of writing: what
// is wrong with a row's logs stands in the page.
func Write(w io.Writer, t table.Table, o Options) error {
	d := makeData(t, o)
	timeline.Each(t, pointsOfEach(t), func(i int, l timeline.Timeline) {
		b := readBeside(t.Rows[i])
		d.Rows[i].Tail, d.Rows[i].Env, d.Rows[i].Curves = b.tail, b.env, makeCurves(l)
	})
	data, err := encode(d)
	if err != nil {
		return err
	}
	return write(w, data, Policy(false))
}

// Live writes the page without data: its script asks the server for /data, and again and
// again while the page is looked at, and for /curves?row=NAME of the row whose chart it draws.
func Live(w io.Writer) error {
	return write(w, []byte(`{"live":true}`), Policy(true))
}

// encode spells a value as JSON that is safe inside a script element: <, >, &, U+2028 and
// U+2029 are escaped, as encoding/json does by default.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("make the data of the page: %w", err)
	}
	return data, nil
}
