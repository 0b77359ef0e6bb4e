package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"tunebench/internal/experiment"
)

// digest is the hash of a file, or why there is none.
type digest struct {
	path string
	sum  string
	err  error
}

// content returns a file with its hash. Each file is read once: training data may be large.
func (p *planner) content(path string) (*experiment.Content, error) {
	d, ok := p.contents[path]
	if !ok {
		d = hashFile(path)
		p.contents[path] = d
	}
	if d.err != nil {
		return nil, d.err
	}
	return &experiment.Content{Path: d.path, SHA256: d.sum}, nil
}

func hashFile(path string) digest {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return digest{err: err}
	}
	file, err := os.Open(absolute)
	if err != nil {
		return digest{err: err}
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return digest{err: err}
	}
	return digest{path: absolute, sum: hex.EncodeToString(hash.Sum(nil))}
}
