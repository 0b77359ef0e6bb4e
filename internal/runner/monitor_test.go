package runner

import (
	"testing"
	"time"

	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/sampler"
	"tunebench/internal/unit"
)

func at(seconds int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(seconds) * time.Second)
}

func amount(b unit.Bytes) *unit.Bytes { return &b }

func TestStillnessCountsFromTheLastThingThatMoved(t *testing.T) {
	t.Parallel()
	type look struct {
		second       int
		printed      int64
		device, host *unit.Bytes
		want         time.Duration
	}
	for name, looks := range map[string][]look{
		"output moves":                      {{1, 10, nil, nil, 0}, {5, 10, nil, nil, 4e9}, {6, 11, nil, nil, 0}},
		"device memory moves":               {{1, 0, amount(unit.GiB), nil, 0}, {5, 0, amount(2 * unit.GiB), nil, 0}, {9, 0, amount(2 * unit.GiB), nil, 4e9}},
		"host memory moves":                 {{1, 0, nil, amount(unit.GiB), 0}, {5, 0, nil, amount(2 * unit.GiB), 0}},
		"a breath of memory does not count": {{1, 0, nil, amount(unit.GiB), 0}, {5, 0, nil, amount(unit.GiB + unit.MiB), 4e9}},
		"memory that becomes unknown moves": {{1, 0, amount(unit.GiB), nil, 0}, {5, 0, nil, nil, 0}, {7, 0, nil, nil, 2e9}},
		"memory creeps over many looks":     {{1, 0, nil, amount(0), 0}, {5, 0, nil, amount(3 * unit.MiB), 4e9}, {9, 0, nil, amount(6 * unit.MiB), 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMovement(at(0))
			for _, l := range looks {
				if got := m.still(at(l.second), l.printed, l.device, l.host); got != l.want {
					t.Errorf("at second %d: still for %v, want %v", l.second, got, l.want)
				}
			}
		})
	}
}

func TestOnlyPSSConvictsSeveralProcesses(t *testing.T) {
	t.Parallel()
	unknown := metric.Missing("not read")
	sample := func(processes int, rss, pss metric.Value) sampler.HostSample {
		return sampler.HostSample{HostReading: sampler.HostReading{Processes: processes, RSS: rss, PSS: pss}}
	}
	m := &monitor{experiment: experiment.Experiment{}}
	for name, tc := range map[string]struct {
		sample sampler.HostSample
		want   bool
	}{
		"PSS above":                         {sample(2, metric.Of(300), metric.Of(101)), true},
		"PSS below, RSS above":              {sample(2, metric.Of(300), metric.Of(99)), false},
		"RSS of several above, PSS unknown": {sample(2, metric.Of(300), unknown), false},
		"RSS of one above, PSS unknown":     {sample(1, metric.Of(101), unknown), true},
		"nothing known":                     {sample(1, unknown, unknown), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := m.over(tc.sample, 100); got != tc.want {
				t.Errorf("over = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTheTimeLeftIsTheMeanOfWhatWasRun(t *testing.T) {
	t.Parallel()
	c := newClock(5)
	if c.left() != 0 {
		t.Errorf("left = %v before anything was run, want 0", c.left())
	}
	c.skip()
	c.add(10 * time.Second)
	c.add(20 * time.Second)
	if got, want := c.left(), 30*time.Second; got != want {
		t.Errorf("left = %v, want %v", got, want)
	}
}
