package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrainingTextIsReadInEitherForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content, field, want, wrong string
	}{
		{name: "plain text", content: "one\ntwo", want: "one\ntwo"},
		{name: "text fields", content: `{"text": "a"}` + "\n" + `{"text": "b", "id": 3}` + "\n", want: "a\nb\n"},
		{name: "output fields", content: `{"output": "é"}`, want: "é\n"},
		{name: "the named field first", content: `{"answer": "x", "text": "y"}`, field: "answer", want: "x\n"},
		{name: "empty lines between", content: "{\"text\": \"a\"}\n\n  \n{\"output\": \"b\"}\n\n", want: "a\nb\n"},
		{name: "no such field", content: "{\"text\": \"a\"}\n{\"input\": \"b\"}\n", wrong: `:2: no text in any of the fields`},
		{name: "a field of another type", content: `{"text": 5}`, wrong: `:1: no text in any of the fields`},
		{name: "a line cut off", content: "{\"text\": \"a\"}\n{\"tex", wrong: `:2: not a JSON object`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(path, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := readText(path, test.field)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), path+test.wrong) {
					t.Errorf("error %v, want %q in it", err, test.wrong)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func FuzzJoinFields(f *testing.F) {
	f.Add([]byte("{\"text\": \"a\"}\n{\"output\": \"b\"}\n"))
	f.Add([]byte("{\"text\": \"a\nb\"}"))
	f.Add([]byte("{}\n[]\nnull"))
	f.Add([]byte("{\"text\": \"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := joinFields(content, []string{"text", "output"})
		if err != nil {
			return
		}
		var filled int
		for line := range bytes.Lines(content) {
			if len(bytes.TrimSpace(line)) > 0 {
				filled++
			}
		}
		if got := bytes.Count(text, []byte("\n")); got < filled {
			t.Errorf("%d lines made %d lines of text: %q", filled, got, text)
		}
	})
}

func TestTheEmbeddedTextIsPlain(t *testing.T) {
	t.Parallel()
	if len(embeddedText) < 10_000 {
		t.Errorf("%d bytes", len(embeddedText))
	}
	for i, b := range embeddedText {
		if b != '\n' && (b < ' ' || b > '~') {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
}

func TestAnEpochDealsEverySampleOnceAndItsTargetsFollow(t *testing.T) {
	t.Parallel()
	text := []byte("abcdefghijklmnopqrstuvwxyz")
	const length = 5
	d, err := newDataset(text, length, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d.samples() != 5 {
		t.Fatalf("%d samples, want 5", d.samples())
	}
	for epoch := range 3 {
		seen := map[string]bool{}
		inputs, targets := make([]byte, 5*length), make([]byte, 5*length)
		d.fill(inputs, targets)
		for at := 0; at < len(inputs); at += length {
			seen[string(inputs[at:at+length])] = true
		}
		if len(seen) != 5 {
			t.Errorf("epoch %d: %d different samples, want 5", epoch, len(seen))
		}
		for i := range inputs {
			if targets[i] != inputs[i]+1 {
				t.Errorf("%c is followed by %c", inputs[i], targets[i])
			}
		}
	}
}
