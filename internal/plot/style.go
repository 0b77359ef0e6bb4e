package plot

import (
	"image/color"
	"strconv"
	"strings"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// rgb is a colour as it is written in a style sheet.
type rgb uint32

// RGBA spells the colour for package color.
func (c rgb) RGBA() (r, g, b, a uint32) {
	return uint32(c>>16&0xff) * 0x101, uint32(c>>8&0xff) * 0x101, uint32(c&0xff) * 0x101, 0xffff
}

// The colours of what is no series.
const (
	white rgb = 0xffffff
	ink   rgb = 0x1b2024
	soft  rgb = 0x59626b
	faint rgb = 0xe2e5e7
	blue  rgb = 0x0b63b5
	red   rgb = 0xa3231a
)

// tint is a blue that the grid shows through.
func tint() color.Color { return color.NRGBA{R: 0x0b, G: 0x63, B: 0xb5, A: 0x18} }

// seriesColor returns one of some colours that people who see colours differently tell apart,
// too, after Okabe and Ito; those that are too light for a thin line on white are darker.
func seriesColor(i int) color.Color {
	all := []rgb{0x0072b2, 0xd55e00, 0x007d5c, 0xb04f85, 0x1b2024, 0xb87d00, 0x2f8fcc}
	return all[i%len(all)]
}

// lineStyle returns a line that differs from others by its dashes, too: a picture that is
// printed in grey is read by them.
func lineStyle(i int) draw.LineStyle {
	dashes := [][]vg.Length{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}}
	return draw.LineStyle{Color: seriesColor(i), Width: 1.5, Dashes: dashes[i%len(dashes)]}
}

// markStyle returns a mark that is filled, or hollow where its figure is doubtful.
func markStyle(i int, sure bool) draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	if sure {
		shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	}
	return draw.GlyphStyle{Color: seriesColor(i), Radius: 3.5, Shape: shapes[i%len(shapes)]}
}

// letters returns the style of a text. It is drawn as it is: the handler knows no markup.
func letters(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		YAlign: draw.YTop, Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

func bold(size vg.Length) text.Style {
	s := letters(size, ink)
	s.Font.Weight = weight.WeightBold
	return s
}

// shown makes one line of visible text of at most that many letters: a picture is no place
// for what a name may hold beside letters, and XML has no spelling for some of it.
func shown(t string, most int) string {
	t = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(t, "\uFFFD"))), " ")
	if runes := []rune(t); len(runes) > most {
		return string(runes[:most-1]) + "\u2026"
	}
	return t
}
