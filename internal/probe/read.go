package probe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// largest is the size in bytes beyond which a file is no record.
const largest = 64 << 20

// Report is what the processes of one experiment left.
type Report struct {
	Processes []Process // ranks first, by rank; the others by pid
	Notes     []string  // what a reader should know: damaged files, processes that left nothing whole
}

// Read reads every record in a folder. A damaged file costs that file and is named in
// Notes; only a folder that cannot be listed is an error. A folder that is not there, or
// has no record, is a report that says so.
func Read(outDir fs.FS) (Report, error) {
	entries, err := fs.ReadDir(outDir, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Report{}, fmt.Errorf("list probe records: %w", err)
	}
	var r Report
	found := 0
	for _, entry := range entries {
		if match, _ := path.Match("process_*.json", entry.Name()); !match {
			continue
		}
		found++
		p, err := readProcess(outDir, entry)
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %v", entry.Name(), err))
			continue
		}
		r.Processes = append(r.Processes, p)
	}
	r.assign()
	r.sort()
	r.note(found)
	return r, nil
}

func readProcess(dir fs.FS, entry fs.DirEntry) (Process, error) {
	if !entry.Type().IsRegular() {
		return Process{}, errors.New("read a probe record: not a file")
	}
	file, err := dir.Open(entry.Name())
	if err != nil {
		return Process{}, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err != nil {
		return Process{}, err
	}
	if len(data) > largest {
		return Process{}, fmt.Errorf("read a probe record: larger than %d bytes", largest)
	}
	p, err := parse(data)
	p.File = entry.Name()
	return p, err
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Processes, func(a, b Process) int {
		return cmp.Or(
			cmp.Compare(order(a), order(b)), cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.PID, b.PID), a.Started.Compare(b.Started))
	})
}

func order(p Process) int {
	if p.Role == RoleRank {
		return 0
	}
	return 1
}

// rank is the rank of a process that has one as its role, and 0 for all others: a run
// without a launcher has its only rank there.
func (p Process) rank() int {
	if p.Role != RoleRank || p.Place == nil {
		return 0
	}
	return p.Place.Rank
}

// note adds what the set of records as a whole says.
func (r *Report) note(files int) {
	if files == 0 {
		r.Notes = append(r.Notes, "no process left a record: no Python ran, or it was started with -I, -E or -S, "+
			"or it took "+PathVariable+" out of the environment")
		return
	}
	ranks := r.Ranks()
	for _, p := range ranks {
		if !p.Complete {
			r.Notes = append(r.Notes, fmt.Sprintf("%s did not reach its exit: its record is of %s after its start",
				p.Label(), p.Written.Sub(p.Started).Round(1e6)))
		}
		for _, text := range p.Errors {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", p.Label(), text))
		}
	}
	if missing := absent(ranks); len(missing) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no record of rank %v", missing))
	}
	if len(ranks) == 0 {
		r.Notes = append(r.Notes, "no process that left a record had loaded torch")
	}
}

// Unsure says of which ranks it is not known what they held at most, and why.
func (r Report) Unsure() []string {
	var out []string
	ranks := r.Ranks()
	for _, p := range ranks {
		if !p.Complete {
			out = append(out, p.Label()+" did not reach its exit")
			continue
		}
		for _, d := range p.Devices {
			if !d.ReservedPeak.Known() {
				out = append(out, fmt.Sprintf("%s: %s", p.Label(), d.ReservedPeak.Gap))
			}
		}
	}
	if missing := absent(ranks); len(missing) > 0 {
		out = append(out, fmt.Sprintf("no record of rank %v", missing))
	}
	return out
}

// absent returns the ranks, of as many as each rank says there are, that left nothing.
// A count beyond any cluster is damage and is not believed.
func absent(ranks []Process) []int {
	const believable = 1 << 16
	world, seen := 0, map[int]bool{}
	for _, p := range ranks {
		if p.Place != nil && p.Place.WorldSize <= believable {
			world = max(world, p.Place.WorldSize)
			seen[p.Place.Rank] = true
		}
	}
	var missing []int
	for rank := range world {
		if !seen[rank] {
			missing = append(missing, rank)
		}
	}
	return missing
}
