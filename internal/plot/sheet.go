package plot

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sheet is a picture: a title, panels one below the other with their axes in line, and
// remarks at the foot. A panel's key stands above it, where it covers no line.
type sheet struct {
	title  string
	below  []string // lines below the title
	panels []panel
	foot   []string
}

type panel struct {
	plot   *plot.Plot
	key    []entry
	height vg.Length
}

// entry is one thing of a key: how it is drawn and what it is.
type entry struct {
	text string
	line draw.LineStyle
	mark draw.GlyphStyle
}

// The measures of a sheet.
const (
	sheetWidth = vg.Length(760)
	margin     = vg.Length(18)
	titleSize  = vg.Length(15)
	lineHeight = vg.Length(16)
	gap        = vg.Length(10)
	sample     = vg.Length(26) // of the line in a key
	footSize   = vg.Length(10)
)

func (s sheet) width() vg.Length { return sheetWidth }

func (s sheet) height() vg.Length {
	h := 2*margin + titleSize + vg.Length(len(s.below))*lineHeight
	for _, p := range s.panels {
		h += gap + vg.Length(len(rows(p.key)))*lineHeight + p.height
	}
	if len(s.foot) > 0 {
		h += gap/2 + vg.Length(len(s.foot))*lineHeight
	}
	return h
}

// draw draws the sheet on what is white already.
func (s sheet) draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	at := c.Max.Y
	c.FillText(bold(titleSize), vg.Point{X: c.Min.X, Y: at}, s.title)
	at -= titleSize + 4
	for _, line := range s.below {
		c.FillText(letters(11, soft), vg.Point{X: c.Min.X, Y: at}, line)
		at -= lineHeight
	}
	at += 4
	tiles := make([]draw.Canvas, len(s.panels))
	for i, p := range s.panels {
		at -= gap + vg.Length(len(rows(p.key)))*lineHeight
		tiles[i] = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: at - p.height}, Max: vg.Point{X: c.Max.X, Y: at}}}
		at -= p.height
	}
	inLine(s.panels, tiles)
	for i, p := range s.panels {
		p.plot.Draw(tiles[i])
		drawKey(p.key, c, p.plot.DataCanvas(tiles[i]).Min.X, tiles[i].Max.Y)
	}
	at -= gap / 2
	for _, line := range s.foot {
		c.FillText(letters(footSize, soft), vg.Point{X: c.Min.X, Y: at}, line)
		at -= lineHeight
	}
}

// inLine narrows the tiles so that the data of all panels begin and end below one another.
func inLine(panels []panel, tiles []draw.Canvas) {
	var left, right vg.Length
	for i, p := range panels {
		inner := p.plot.DataCanvas(tiles[i])
		left, right = max(left, inner.Min.X-tiles[i].Min.X), max(right, tiles[i].Max.X-inner.Max.X)
	}
	for i, p := range panels {
		inner := p.plot.DataCanvas(tiles[i])
		tiles[i] = draw.Crop(tiles[i], left-(inner.Min.X-tiles[i].Min.X), -(right - (tiles[i].Max.X - inner.Max.X)), 0, 0)
	}
}

// keyIndent is about where the data of a panel begin.
const keyIndent = vg.Length(60)

func (e entry) width() vg.Length { return sample + 6 + letters(11, ink).Width(e.text) + 18 }

// rows breaks a key into lines that fit.
func rows(key []entry) [][]entry {
	var out [][]entry
	room := vg.Length(0)
	for _, e := range key {
		if room < e.width() {
			out, room = append(out, nil), sheetWidth-2*margin-keyIndent
		}
		out[len(out)-1] = append(out[len(out)-1], e)
		room -= e.width()
	}
	return out
}

// drawKey draws a key so that its last line stands on bottom.
func drawKey(key []entry, c draw.Canvas, left, bottom vg.Length) {
	lines := rows(key)
	for i, line := range lines {
		x, y := left, bottom+vg.Length(len(lines)-i)*lineHeight-lineHeight/2+1
		for _, e := range line {
			if e.line.Width > 0 {
				c.StrokeLine2(e.line, x, y, x+sample, y)
			}
			if e.mark.Shape != nil {
				c.DrawGlyph(e.mark, vg.Point{X: x + sample/2, Y: y})
			}
			style := letters(11, ink)
			style.YAlign = draw.YCenter
			c.FillText(style, vg.Point{X: x + sample + 6, Y: y}, e.text)
			x += e.width()
		}
	}
}
