package builtin

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

const (
	// barInterval is the least time between two drawings of the bar.
	barInterval = 100 * time.Millisecond
	// barWidth is how many characters the bar is long.
	barWidth = 10
	// smoothing is the weight of the newest rate in the shown one.
	smoothing = 0.3
)

// screen prints log lines on stdout and keeps a bar like tqdm's on stderr.
type screen struct {
	stdout, stderr io.Writer
	total          int
	began          time.Time
	drawn          time.Time
	drawnStep      int
	perStep        float64 // seconds, smoothed; 0: not known yet
	width          int     // of the last bar
}

func newScreen(stdout, stderr io.Writer, total int) *screen {
	return &screen{stdout: stdout, stderr: stderr, total: total}
}

func (s *screen) start() {
	s.began = time.Now()
	s.drawn = s.began
	s.draw(0)
}

// advance draws the bar anew, unless that was done a moment ago.
func (s *screen) advance(step int) {
	now := time.Now()
	if step < s.total && now.Sub(s.drawn) < barInterval {
		return
	}
	latest := now.Sub(s.drawn).Seconds() / float64(step-s.drawnStep)
	if s.perStep == 0 {
		s.perStep = latest
	}
	s.perStep += smoothing * (latest - s.perStep)
	s.drawn, s.drawnStep = now, step
	s.draw(step)
}

func (s *screen) draw(step int) {
	text := bar(step, s.total, time.Since(s.began), s.perStep)
	s.width = len([]rune(text))
	fmt.Fprintf(s.stderr, "\r%s", text)
}

// print wipes the bar, prints the line, and draws the bar again.
func (s *screen) print(line entry) {
	fmt.Fprintf(s.stderr, "\r%s\r", strings.Repeat(" ", s.width))
	fmt.Fprintln(s.stdout, line)
	s.draw(s.drawnStep)
}

// stop ends the line that the bar stands on.
func (s *screen) stop() { fmt.Fprintln(s.stderr) }

// bar returns the bar's text, such as " 85%|████████▌ | 17/20 [00:17<00:02,  1.14it/s]".
func bar(step, total int, elapsed time.Duration, perStep float64) string {
	part := float64(step) / float64(total)
	left, rate := "?", "?it/s"
	if perStep > 0 {
		left = clock(time.Duration(perStep * float64(total-step) * float64(time.Second)))
		rate = fmt.Sprintf("%5.2fit/s", 1/perStep)
		if perStep > 1 {
			rate = fmt.Sprintf("%5.2fs/it", perStep)
		}
	}
	return fmt.Sprintf("%3.0f%%|%s| %d/%d [%s<%s, %s]",
		math.Floor(100*part), blocks(part), step, total, clock(elapsed), left, rate)
}

func blocks(part float64) string {
	eighths := []rune(" ▏▎▍▌▋▊▉")
	n := int(part * barWidth * 8)
	text := strings.Repeat("█", n/8)
	if n < barWidth*8 {
		text += string(eighths[n%8])
		text += strings.Repeat(" ", barWidth-n/8-1)
	}
	return text
}

// clock returns 01:05, or 1:01:05 from an hour on.
func clock(d time.Duration) string {
	seconds := int(d.Seconds())
	if hours := seconds / 3600; hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%02d:%02d", seconds/60, seconds%60)
}
