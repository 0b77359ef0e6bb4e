package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tunebench/internal/metric"
)

// format is the version of the file that the embedded Python writes.
const format = 1

// wire is a record as the Python side writes it.
type wire struct {
	Format      int               `json:"format"`
	Complete    bool              `json:"complete"`
	Errors      []string          `json:"errors"`
	PID         int               `json:"pid"`
	PPID        int               `json:"ppid"`
	PIDs        []int             `json:"namespace_pids"`
	Forked      bool              `json:"forked"`
	StartedNS   int64             `json:"started_ns"`
	WrittenNS   int64             `json:"written_ns"`
	Argv        []string          `json:"argv"`
	Executable  string            `json:"exe"`
	Python      string            `json:"python"`
	Place       wirePlace         `json:"place"`
	Environment map[string]string `json:"environment"`
	Versions    map[string]string `json:"versions"`
	HostPeak    *metric.Value     `json:"host_peak_bytes"`
	Exit        json.RawMessage   `json:"exit"`
	Exception   *Exception        `json:"exception"`
	Torch       *wireTorch        `json:"torch"`
	Trainer     *wireTrainer      `json:"trainer"`
}

type wirePlace struct {
	Rank      *int `json:"rank"`
	LocalRank *int `json:"local_rank"`
	WorldSize *int `json:"world_size"`
}

type wireTorch struct {
	Version   string    `json:"version"`
	CUDA      string    `json:"cuda_version"`
	Driver    string    `json:"driver"`
	Allocator Allocator `json:"allocator"`
	Devices   []Device  `json:"cuda"`
}

type wireTrainer struct {
	Count  int       `json:"trainers"`
	Source string    `json:"source"`
	Stages figures   `json:"stages"`
	Final  figures   `json:"final"`
	Log    []figures `json:"log_history"`
	Begin  int64     `json:"train_begin_ns"`
	End    int64     `json:"train_end_ns"`
}

// parse reads one record. It refuses what no probe of this version has written.
func parse(data []byte) (Process, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Process{}, fmt.Errorf("read a probe record: %w", err)
	}
	if w.Format != format {
		return Process{}, fmt.Errorf("read a probe record: format %d, want %d", w.Format, format)
	}
	if w.PID <= 0 || w.StartedNS <= 0 {
		return Process{}, errors.New("read a probe record: it names no process")
	}
	return w.process(), nil
}

func (w wire) process() Process {
	p := Process{
		PID: w.PID, PPID: w.PPID, PIDs: w.PIDs, Forked: w.Forked, Complete: w.Complete,
		Started: time.Unix(0, w.StartedNS).UTC(), Written: time.Unix(0, w.WrittenNS).UTC(),
		Argv: w.Argv, Executable: w.Executable, Python: w.Python, Place: w.Place.place(),
		Exception: w.Exception, Exit: spelled(w.Exit), Errors: w.Errors,
		HostPeak: metric.Missing("the process did not say"),
	}
	if w.HostPeak != nil {
		p.HostPeak = *w.HostPeak
	}
	for _, name := range slices.Sorted(maps.Keys(w.Environment)) {
		p.Settings = append(p.Settings, Setting{Name: name, Value: w.Environment[name]})
	}
	p.addTorch(w.Torch, w.Versions)
	if w.Trainer != nil {
		p.Trainer = w.Trainer.trainer()
	}
	return p
}

// addTorch adds what torch said, and every version in order of its name.
func (p *Process) addTorch(torch *wireTorch, versions map[string]string) {
	all := map[string]string{}
	maps.Copy(all, versions)
	if torch != nil {
		p.HasTorch, p.Allocator, p.Devices = true, torch.Allocator, torch.Devices
		all["torch"], all["cuda"], all["driver"] = torch.Version, torch.CUDA, torch.Driver
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" {
			p.Versions = append(p.Versions, Version{Name: name, Version: all[name]})
		}
	}
}

// UnmarshalJSON gives every figure that the record lacks a reason.
func (d *Device) UnmarshalJSON(data []byte) error {
	type plain Device
	absent := metric.Missing("torch did not say")
	filled := plain{
		Total: absent, Allocated: absent, AllocatedPeak: absent, Reserved: absent, ReservedPeak: absent,
		Retries: absent, OOMs: absent,
	}
	if err := json.Unmarshal(data, &filled); err != nil {
		return err
	}
	*d = Device(filled)
	return nil
}

func (w wirePlace) place() *Place {
	if w.Rank == nil || w.WorldSize == nil || *w.Rank < 0 {
		return nil
	}
	p := Place{Rank: *w.Rank, WorldSize: *w.WorldSize, LocalRank: -1}
	if w.LocalRank != nil && *w.LocalRank >= 0 {
		p.LocalRank = *w.LocalRank
	}
	return &p
}

func (w wireTrainer) trainer() *Trainer {
	t := &Trainer{
		Stages: metric.Set(w.Stages), Final: metric.Set(w.Final), Source: w.Source, Count: w.Count,
		TrainBegin: moment(w.Begin), TrainEnd: moment(w.End),
	}
	for _, entry := range w.Log {
		t.Log = append(t.Log, metric.Set(entry))
	}
	return t
}

// moment is the time of so many nanoseconds; the zero time where there are none.
func moment(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// spelled returns a number or a text as it reads, and nothing for null.
func spelled(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	raw = bytes.TrimSpace(raw)
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
		return ""
	}
	return string(raw)
}
