package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tunebench/internal/outcome"
)

// maxSize bounds the size of a record that is read; what is larger is no record.
const maxSize = 256 << 20

// Damage is a record that cannot be used: it is cut, empty, or holds no result.
type Damage struct {
	File   string // path of the file
	Reason string // what is wrong with it, for people
}

// Error names the file and the reason.
func (d *Damage) Error() string { return d.File + ": " + d.Reason }

// Read reads the record of the experiment folder dir, ours or the first harness's.
//
// A file that is not there is an error that wraps fs.ErrNotExist. A file that is no
// whole record is a *Damage; the record that is returned beside it then holds what
// could be read (its settings, say), with the status incomplete.
func Read(dir string) (Record, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Record{}, fmt.Errorf("read the record of %s: %w", dir, err)
	}
	defer root.Close()
	return ReadIn(root)
}

// ReadIn is Read for an opened folder. A link that leads out of it is not followed.
func ReadIn(root *os.Root) (Record, error) {
	path := filepath.Join(root.Name(), FileName)
	info, err := root.Stat(FileName)
	if err != nil {
		return Record{}, fmt.Errorf("read the record: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Record{}, &Damage{File: path, Reason: "not a regular file"}
	}
	if info.Size() > maxSize {
		return Record{}, &Damage{File: path, Reason: fmt.Sprintf("%d bytes are too many for a record", info.Size())}
	}
	data, err := root.ReadFile(FileName)
	if err != nil {
		return Record{}, fmt.Errorf("read the record: %w", err)
	}
	r, err := Parse(data)
	if err != nil {
		return r, &Damage{File: path, Reason: err.Error()}
	}
	return r, nil
}

// Parse understands the text of a results.json. What it accepts can be formatted and
// parsed again to an equal record. With an error it returns what could be read.
func Parse(data []byte) (Record, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return Record{}, errors.New("the file is empty")
	}
	fields, err := parseFields(quoteNotFinite(data))
	if err != nil {
		return Record{}, err
	}
	for _, f := range fields {
		if f.name == structuredKey {
			return parseStructured(f.raw)
		}
	}
	return parseFlat(fields)
}

func parseStructured(raw json.RawMessage) (Record, error) {
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return Record{}, fmt.Errorf("under the key %s: %w", structuredKey, err)
	}
	if r.Version < 1 {
		return r, fmt.Errorf("under the key %s: no version", structuredKey)
	}
	if r.Version > Version {
		return r, fmt.Errorf("version %d was written by a newer tunebench; this one reads up to %d", r.Version, Version)
	}
	if !isEnding(r.Outcome.Status) {
		return r, fmt.Errorf("status %q is no way to end", r.Outcome.Status)
	}
	return r, nil
}

// isEnding reports whether a finished experiment may have this status.
func isEnding(s outcome.Status) bool {
	switch s {
	case outcome.OK, outcome.OOM, outcome.HostMemory, outcome.Killed, outcome.NCCLTimeout,
		outcome.Usage, outcome.Port, outcome.Signal, outcome.Timeout, outcome.Interrupted,
		outcome.Error, outcome.NoMetrics:
		return true
	}
	return false
}

// Final reports whether resume leaves the experiment alone. A failure is a result as
// much as a success is; only what the user interrupted is run again.
func (r Record) Final() bool {
	return isEnding(r.Outcome.Status) && r.Outcome.Status != outcome.Interrupted
}

// Done reports whether dir holds a whole, final record of the experiment with that
// identity.
func Done(dir, id string) bool {
	r, err := Read(dir)
	return err == nil && r.Final() && id != "" && r.Experiment.ID == id
}

// field is one key of the flat object with its undecoded value.
type field struct {
	name string
	raw  json.RawMessage
}

// parseFields reads a JSON object in the order of its keys; of two equal keys the
// last value stays, as in Python. Bytes that are no UTF-8 are replaced first: a value that
// is kept as it is spelled would keep them.
func parseFields(data []byte) ([]field, error) {
	decoder := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(data, []byte("\ufffd"))))
	if token, err := decoder.Token(); err != nil {
		return nil, notWhole(err)
	} else if token != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var fields []field
	place := make(map[string]int)
	for decoder.More() {
		f, err := nextField(decoder)
		if err != nil {
			return nil, notWhole(err)
		}
		if at, known := place[f.name]; known {
			fields[at] = f
			continue
		}
		place[f.name] = len(fields)
		fields = append(fields, f)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, notWhole(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the JSON object")
	}
	return fields, nil
}

func nextField(decoder *json.Decoder) (field, error) {
	key, err := decoder.Token()
	if err != nil {
		return field{}, err
	}
	name, ok := key.(string)
	if !ok {
		return field{}, fmt.Errorf("%v is no key", key)
	}
	f := field{name: name}
	return f, decoder.Decode(&f.raw)
}

func notWhole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is cut off")
	}
	return fmt.Errorf("not JSON: %w", err)
}
