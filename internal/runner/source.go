package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/device/nvml"
	"tunebench/internal/device/smi"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/record"
)

// occupied is a device with what is in use on it, before the trainer starts.
type occupied struct {
	device.Device
	used      metric.Value // bytes
	processes []device.ProcessUse
	gap       string // why there is no list of processes
}

// deviceSource is a way to read devices.
type deviceSource interface {
	// survey returns every device of this machine.
	survey(ctx context.Context) ([]occupied, error)
	// start begins to log the devices into the experiment's folder and takes the baseline.
	start(ctx context.Context, devices []device.Device, e experiment.Experiment, env []string, w *record.Watch) (deviceLog, error)
}

// deviceLog is a log that is being written.
type deviceLog interface {
	// stop ends it and adds what there is to say.
	stop(w *record.Watch)
}

// chooseSource returns the source that the experiment asks for. With auto it is NVML, and
// nvidia-smi where that cannot be had; fallback then says why.
func chooseSource(ctx context.Context, want string, o Options) (src deviceSource, name, fallback string, err error) {
	if want == experiment.SourceSMI {
		src, err = smiFrom(o)
		return src, experiment.SourceSMI, "", err
	}
	viaNVML := nvmlSource{config: nvml.Config{Self: o.Self, Library: o.NVML, Env: o.Environ}}
	_, err = viaNVML.survey(ctx)
	if err == nil || want == experiment.SourceNVML {
		return viaNVML, experiment.SourceNVML, "", err
	}
	src, smiErr := smiFrom(o)
	if smiErr != nil {
		return nil, experiment.SourceSMI, "", errors.Join(err, smiErr)
	}
	return src, experiment.SourceSMI, fmt.Sprintf("NVML cannot be used, so nvidia-smi is: %v", err), nil
}

func smiFrom(o Options) (deviceSource, error) {
	if o.SMI == nil {
		return nil, fmt.Errorf("nvidia-smi is not on PATH: %w", fs.ErrNotExist)
	}
	return smiSource{smi: *o.SMI}, nil
}

// nvmlSource samples in a child process: a driver call that hangs costs a gap.
type nvmlSource struct{ config nvml.Config }

func (s nvmlSource) survey(ctx context.Context) ([]occupied, error) {
	machine, err := nvml.List(ctx, s.config)
	if err != nil {
		return nil, err
	}
	var all []occupied
	for _, d := range machine.Devices {
		for _, one := range append([]device.Surveyed{d}, d.Slices...) {
			all = append(all, occupied{Device: one.Device, used: one.Used, processes: one.Processes, gap: one.ProcessesGap})
		}
	}
	return all, nil
}

func (s nvmlSource) start(ctx context.Context, devices []device.Device, e experiment.Experiment, env []string, w *record.Watch) (deviceLog, error) {
	config := s.config
	config.Devices, config.Interval, config.Dir, config.Env = devices, e.Sampling.Interval, e.Dir, env
	logger, err := nvml.StartLogger(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, d := range logger.Latest().Devices {
		w.Baseline = append(w.Baseline, record.Baseline{Index: d.Index, Used: d.Baseline.Used})
	}
	return nvmlLog{logger}, nil
}

type nvmlLog struct{ logger *nvml.Logger }

// nvmlGrace is the time that the sampler has for its last word.
const nvmlGrace = 4 * time.Second

func (l nvmlLog) stop(w *record.Watch) {
	summary := l.logger.Stop(nvmlGrace)
	w.Summary, w.Exit = &summary, summary.Exit
}

// smiSource has nvidia-smi itself write the log. It says nothing of processes.
type smiSource struct{ smi smi.SMI }

func (s smiSource) survey(ctx context.Context) ([]occupied, error) {
	devices, err := s.smi.List(ctx)
	if err != nil && len(devices) == 0 {
		return nil, err
	}
	levels, err := s.smi.Read(ctx, devices)
	if err != nil && len(levels) == 0 {
		return nil, err
	}
	all := make([]occupied, len(devices))
	for i, d := range devices {
		all[i] = occupied{Device: d, used: metric.Missing("not read"), gap: "nvidia-smi is asked for no list of processes"}
		at := slices.IndexFunc(levels, func(l device.Level) bool { return l.Index == d.Index })
		if at >= 0 {
			all[i].used = levels[at].Used
		}
	}
	return all, nil
}

func (s smiSource) start(ctx context.Context, devices []device.Device, e experiment.Experiment, env []string, w *record.Watch) (deviceLog, error) {
	levels, err := s.smi.Read(ctx, devices)
	if err != nil {
		w.Notes = append(w.Notes, err.Error())
	}
	for _, level := range levels {
		w.Baseline = append(w.Baseline, record.Baseline(level))
	}
	logger, err := s.smi.Log(ctx, devices, e.Sampling.Interval, gpuLog(e), env)
	if err != nil {
		return nil, err
	}
	w.Notes = append(w.Notes, logger.Notes()...)
	return smiLog{logger}, nil
}

type smiLog struct{ logger *smi.Logger }

func (l smiLog) stop(w *record.Watch) {
	exit, err := l.logger.Stop()
	if err != nil {
		w.Notes = append(w.Notes, fmt.Sprintf("the logger could not be ended: %v", err))
	}
	w.Exit = exit
}

// watchEnv is the environment of what watches: known by its token.
func watchEnv(o Options, token string) []string {
	return append(slices.Clone(o.Environ), local.FamilyEnv+"="+local.WatchToken(token))
}
