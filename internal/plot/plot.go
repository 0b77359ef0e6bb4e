// Package plot draws pictures of a table, each as PNG and as SVG: memory over time of
// each experiment, and memory and throughput over the batch size of each model.
//
// It has the files (this file), the two pictures (overtime.go, overbatch.go), and what
// they are made of: the sheet with its title, keys and panels (sheet.go), axes (axis.go)
// and styles (style.go). What is drawn of an experiment's time is package timeline's. Texts
// of the results are drawn letter by letter as they are, and never read as markup.
package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"tunebench/internal/curve"
	"tunebench/internal/table"
	"tunebench/internal/timeline"
	"tunebench/internal/view"
)

// Options says how the pictures show what they have.
type Options struct {
	Unit view.Unit // of memory
}

// Write draws all pictures of the table into dir, which is made where it is missing, and
// returns the paths of the files, sorted. An experiment without a log, and a model without
// a figure, has no picture.
func Write(dir string, t table.Table, o Options) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the pictures: %w", err)
	}
	out := gallery{dir: dir}
	names := view.Names(t)
	files := fileNames(names)
	timeline.Each(t, curve.Limit, func(i int, l timeline.Timeline) {
		if s, ok := overTime(factsOf(t.Rows[i], names[i]), l, o.Unit); ok {
			out.add(files[i]+"_memory_over_time", s)
		}
	})
	models := byModel(t, names)
	files = fileNames(namesOf(models))
	for i, m := range models {
		if s, ok := overBatch(m, o.Unit); ok {
			out.add(files[i]+"_memory_and_throughput", s)
		}
	}
	slices.Sort(out.paths)
	return out.paths, errors.Join(out.errs...)
}

// gallery is the pictures that were written. It may be added to by several goroutines.
type gallery struct {
	dir string

	mu    sync.Mutex
	paths []string
	errs  []error
}

// dotsPerInch makes letters of the PNG about as sharp as those of a laptop's screen.
const dotsPerInch = 144

// add draws a picture into its two files.
func (g *gallery) add(name string, s sheet) {
	dots := vgimg.NewWith(vgimg.UseWH(s.width(), s.height()), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(white))
	s.draw(draw.New(dots))
	var data bytes.Buffer
	fast := png.Encoder{CompressionLevel: png.BestSpeed} // there may be hundreds
	err := fast.Encode(&data, dots.Image())
	g.save(name+".png", data.Bytes(), err)

	lines := vgsvg.New(s.width(), s.height())
	paper := draw.New(lines)
	paper.FillPolygon(white, []vg.Point{{}, {X: s.width()}, {X: s.width(), Y: s.height()}, {Y: s.height()}})
	s.draw(paper)
	var text bytes.Buffer
	_, err = lines.WriteTo(&text)
	// A viewer that lacks the font takes another without serifs.
	named := bytes.ReplaceAll(text.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	g.save(name+".svg", named, err)
}

// save writes a file, unless there is an error already. It keeps the path or the error.
func (g *gallery) save(name string, data []byte, err error) {
	path := filepath.Join(g.dir, name)
	if err == nil {
		err = renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(g.dir))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.errs = append(g.errs, fmt.Errorf("write the picture %s: %w", path, err))
		return
	}
	g.paths = append(g.paths, path)
}
