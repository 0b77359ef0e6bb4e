package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// maxFile bounds the size of a file of metrics that is read.
const maxFile = 64 << 20

// outputDirName is the name of the trainer's output directory in an experiment's folder.
const outputDirName = "hf"

// exact is one file's final metrics, in the order of the file.
type exact struct {
	name   string
	values dict
}

// readFiles reads the files in which the Trainer leaves its metrics, the one to be
// trusted most last. Files without metrics of a training are left out.
func readFiles(dir fs.FS) (files []exact, notes []string) {
	if dir == nil {
		return nil, nil
	}
	for _, name := range []string{"trainer_state.json", "train_results.json", "all_results.json"} {
		d, err := readFile(dir, name)
		shown := outputDirName + "/" + name
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s was not used: %v", shown, err))
		case isFinal(d):
			files = append(files, exact{shown, d})
		}
	}
	return files, notes
}

func readFile(dir fs.FS, name string) (dict, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	data = quoteNonFinite(data)
	if name == "trainer_state.json" {
		return lastOfHistory(data)
	}
	return jsonDict(data)
}

// lastOfHistory finds the final entry in the log history of a trainer_state.json.
func lastOfHistory(data []byte) (dict, error) {
	var state struct {
		History []json.RawMessage `json:"log_history"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, err
	}
	for _, raw := range slices.Backward(state.History) {
		if d, err := jsonDict(raw); err == nil && isFinal(d) {
			return d, nil
		}
	}
	return nil, nil
}

// jsonDict reads an object and keeps the order of its keys.
func jsonDict(data []byte) (dict, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var d dict
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		d = append(d, jsonEntry(key.(string), value))
	}
	_, err := dec.Token()
	return d, err
}

func jsonEntry(key string, value any) entry {
	e := entry{key: key}
	switch v := value.(type) {
	case json.Number:
		e.value, _ = quotedNumber(v.String())
	case string:
		e.value, _ = quotedNumber(v)
	case nil:
		e.value = word("null")
	default:
		e.value = notNumber("")
	}
	return e
}

// quoteNonFinite puts quotes around the bare NaN, Infinity and -Infinity that Python's
// json module writes and no other reader takes.
func quoteNonFinite(data []byte) []byte {
	words := [][]byte{[]byte("NaN"), []byte("-Infinity"), []byte("Infinity")}
	out := make([]byte, 0, len(data))
	for inString := false; len(data) > 0; {
		n := 1
		switch {
		case inString && data[0] == '\\':
			n = min(2, len(data))
		case data[0] == '"':
			inString = !inString
		case !inString:
			i := slices.IndexFunc(words, func(w []byte) bool { return bytes.HasPrefix(data, w) })
			if i >= 0 {
				out = append(append(append(out, '"'), words[i]...), '"')
				data = data[len(words[i]):]
				continue
			}
		}
		out, data = append(out, data[:n]...), data[n:]
	}
	return out
}
