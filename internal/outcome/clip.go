package outcome

import (
	"fmt"
	"strings"
)

// Bounds on kept text: a text keeps its head and its tail.
const (
	maxText  = 64 << 10
	headText = 44 << 10
	tailText = 16 << 10
)

// clipped collects lines in bounded memory.
type clipped struct {
	head, tail []byte
	dropped    int
}

func (c *clipped) line(line string) {
	line += "\n"
	if len(c.tail) == 0 && len(c.head)+len(line) <= headText {
		c.head = append(c.head, line...)
		return
	}
	c.tail = append(c.tail, line...)
	if extra := len(c.tail) - tailText; extra > tailText {
		c.dropped += extra
		c.tail = append(c.tail[:0], c.tail[extra:]...)
	}
}

func (c *clipped) String() string {
	tail, dropped := c.tail, c.dropped
	if extra := len(tail) - tailText; extra > 0 && len(c.head)+len(tail) > maxText-100 {
		tail, dropped = tail[extra:], dropped+extra
	}
	text := string(c.head)
	if dropped > 0 {
		text += fmt.Sprintf("[tunebench cut %d bytes here; the log has them.]\n", dropped)
	}
	return strings.ToValidUTF8(strings.TrimRight(text+string(tail), "\n"), "\uFFFD")
}

// clip bounds a text that is already there.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var c clipped
	for _, line := range strings.Split(text, "\n") {
		c.line(line)
	}
	return c.String()
}

// oneLine makes a reason of a message: its first line, not too long.
func oneLine(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	const limit = 240
	if runes := []rune(line); len(runes) > limit {
		line = string(runes[:limit-3]) + "..."
	}
	return strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
}
