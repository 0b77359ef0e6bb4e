package table

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// reader reads one folder. ok is false for one that is no experiment's.
type reader func() (row Row, ok bool)

// maxReaders bounds how many folders are read at the same time: a report may be made
// while an experiment is under way, and must not take its cores.
const maxReaders = 8

// result is what a reader returned.
type result struct {
	row Row
	ok  bool
}

// readAll reads the folders at the same time and returns the results in the readers' order.
func readAll(readers []reader) []result {
	results := make([]result, len(readers))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(readers), runtime.GOMAXPROCS(0), maxReaders) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(readers)); i = next.Add(1) - 1 {
				results[i].row, results[i].ok = readers[i]()
			}
		})
	}
	workers.Wait()
	return results
}

// found returns the rows of the folders that are an experiment's.
func found(results []result) []Row {
	var rows []Row
	for _, r := range results {
		if r.ok {
			rows = append(rows, r.row)
		}
	}
	return rows
}
