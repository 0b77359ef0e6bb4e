package builtin

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
)

//go:embed text.txt
var embeddedText []byte

// maxLine bounds one line of a JSONL file, in bytes.
const maxLine = 16 << 20

// readText returns the bytes to train on: the embedded text where path is empty, a
// plain text file, or the joined text fields of a JSONL file. In a JSONL file the
// field named by preferred wins, then text, then output.
func readText(path, preferred string) ([]byte, error) {
	if path == "" {
		return embeddedText, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading training data: %w", err)
	}
	if head := bytes.TrimLeft(content, " \t\r\n"); len(head) == 0 || head[0] != '{' {
		return content, nil
	}
	text, err := joinFields(content, []string{preferred, "text", "output"})
	if err != nil {
		return nil, fmt.Errorf("reading training data: %s:%w", path, err)
	}
	return text, nil
}

func joinFields(content []byte, fields []string) ([]byte, error) {
	var text []byte
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		field, err := textField(lines.Bytes(), fields)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		text = append(append(text, field...), '\n')
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf(" %w", err)
	}
	return text, nil
}

func textField(line []byte, fields []string) (string, error) {
	var object map[string]any
	if err := json.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("not a JSON object: %w", err)
	}
	for _, name := range fields {
		if text, ok := object[name].(string); ok {
			return text, nil
		}
	}
	return "", fmt.Errorf("no text in any of the fields %q", fields)
}

// dataset cuts a text into samples of a fixed length and deals them out in an order
// that is shuffled anew in each epoch.
type dataset struct {
	text   []byte
	length int // tokens of a sample
	order  []int
	next   int
	random *rand.Rand
}

// newDataset needs one byte more than a sample is long, since each position is
// trained on the byte that follows it.
func newDataset(text []byte, length int, seed uint64) (*dataset, error) {
	count := (len(text) - 1) / length
	if count < 1 {
		return nil, fmt.Errorf("the training text has %d bytes, a sample of max_seq_length %d needs %d (use a longer text or a smaller --max_seq_length)",
			len(text), length, length+1)
	}
	d := &dataset{text: text, length: length, order: make([]int, count), random: newRandom(seed, 1)}
	for i := range d.order {
		d.order[i] = i
	}
	d.shuffle()
	return d, nil
}

func (d *dataset) samples() int { return len(d.order) }

func (d *dataset) shuffle() {
	d.random.Shuffle(len(d.order), func(i, j int) { d.order[i], d.order[j] = d.order[j], d.order[i] })
}

// fill deals the next samples into inputs, and what follows each byte into targets.
func (d *dataset) fill(inputs, targets []byte) {
	for at := 0; at < len(inputs); at += d.length {
		if d.next == len(d.order) {
			d.next = 0
			d.shuffle()
		}
		start := d.order[d.next] * d.length
		copy(inputs[at:at+d.length], d.text[start:])
		copy(targets[at:at+d.length], d.text[start+1:])
		d.next++
	}
}

// newRandom returns the stream of that number for a seed, so that data order and
// weights do not depend on one another.
func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
