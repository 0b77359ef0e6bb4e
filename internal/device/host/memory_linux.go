package host

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prometheus/procfs"

	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// readProc reads one process's memory; ok is false where it has ended meanwhile.
func readProc(root string, s procfs.ProcStat, withPSS bool) (Proc, bool) {
	dir := filepath.Join(root, strconv.Itoa(s.PID))
	p := Proc{PID: s.PID, Parent: s.PPID, Group: s.PGRP, Name: s.Comm,
		RSS: resident(root, s.PID), PSS: metric.Missing("PSS was not read with this sample")}
	if withPSS {
		p.PSS = amount(filepath.Join(dir, "smaps_rollup"), ParsePSS)
	}
	p.PeakRSS = amount(filepath.Join(dir, "status"), ParsePeakRSS)
	return p, alive(root, s.PID)
}

// alive reports whether the process has not ended: what was read of one that ends is
// half of it.
func alive(root string, pid int) bool {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return false
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return false
	}
	_, ok := stat(p)
	return ok
}

// resident reads the resident pages from statm.
func resident(root string, pid int) (v metric.Value) {
	defer func() {
		if recover() != nil {
			v = metric.Missing("statm is cut")
		}
	}()
	fs, err := procfs.NewFS(root)
	if err != nil {
		return metric.Missing(err.Error())
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return metric.Missing(err.Error())
	}
	m, err := p.Statm()
	if err != nil {
		return metric.Missing(err.Error())
	}
	return metric.Of(float64(m.ResidentBytes()))
}

// amount reads one field of one file, or says why it cannot.
func amount(file string, parse func(io.Reader) (unit.Bytes, bool, error)) metric.Value {
	f, err := os.Open(file)
	if err != nil {
		return metric.Missing(err.Error())
	}
	defer f.Close()
	b, ok, err := parse(f)
	switch {
	case err != nil:
		return metric.Missing(fmt.Sprintf("%s: %v", file, err))
	case !ok:
		return metric.Missing(file + " has no such field")
	}
	return metric.Of(float64(b))
}
