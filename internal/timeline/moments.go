package timeline

import (
	"os"
	"time"

	"tunebench/internal/folder"
	"tunebench/internal/probe"
	"tunebench/internal/record"
)

// moments is when things happened to one experiment, by the clock of the host.
type moments struct {
	zero     time.Time // what the axis counts from
	started  time.Time // of the trainer; zero where it is not recorded
	duration time.Duration
	begun    time.Time // when the Trainer began to train; zero where it is not recorded
	trained  time.Time // when it had trained; zero where it is not recorded, or did not get there
	exit     time.Time // when the last rank wrote the probe's record; zero where none did
	steps    []Step
}

// barsRead is how much of the end of stderr is looked through for progress bars.
const barsRead = 64 << 10

// readMoments reads the record and the probe's records; the progress bars on stderr have
// the steps where the Trainer logged none.
func readMoments(root *os.Root) moments {
	var m moments
	if full, err := record.ReadIn(root); err == nil {
		m.started, m.duration = full.Started, full.Duration
	}
	if report, err := readProbe(root); err == nil {
		m.steps, m.exit = logged(report), lastExit(report)
		if t := report.Trainer(); t != nil {
			m.begun, m.trained = t.TrainBegin, t.TrainEnd
		}
	}
	if len(m.steps) > 0 {
		return m
	}
	if text, _, err := folder.End(root, "stderr", barsRead); err == nil {
		m.steps = bars(text)
	}
	return m
}

func readProbe(root *os.Root) (probe.Report, error) {
	inside, err := folder.Below(root, record.ProbeDir)
	if err != nil {
		return probe.Report{}, err
	}
	defer inside.Close()
	return probe.Read(inside.FS())
}

// lastExit is when the last rank wrote its record: just before it went.
func lastExit(r probe.Report) time.Time {
	var last time.Time
	for _, p := range r.Ranks() {
		if p.Complete && p.Written.After(last) {
			last = p.Written
		}
	}
	return last
}
