// Package folder opens what lies in an experiment's folder, which others have filled:
// links are not followed, and what is no regular file is not read.
package folder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Open opens an experiment's folder through the one that holds it, so that a link in its
// place cannot lead elsewhere.
func Open(dir string) (*os.Root, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	parent, err := os.OpenRoot(filepath.Dir(absolute))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return Below(parent, filepath.Base(absolute))
}

// Below opens a folder inside another.
func Below(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder (links are not followed)", name)
	}
	return parent.OpenRoot(name)
}

// File opens a file of the folder for reading.
func File(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (links are not followed)", name)
	}
	return root.Open(name)
}

// End returns the end of a file of the folder; cut says that something stands before it.
func End(root *os.Root, name string, most int64) (text string, cut bool, err error) {
	file, err := File(root, name)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", false, err
	}
	from := max(0, info.Size()-most)
	data, err := io.ReadAll(io.NewSectionReader(file, from, most))
	return string(data), from > 0, err
}
