package runner

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/device/nvml"
	"tunebench/internal/device/smi"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/record"
)

// deviceSource is a way to read devices.
type deviceSource interface {
	// survey returns every device of this machine, with what is in use on it.
	survey(ctx context.Context) (device.Machine, error)
	// start begins to log the devices into the experiment's folder and takes the baseline.
	start(ctx context.Context, devices []device.Device, e experiment.Experiment, env []string, w *record.Watch) (deviceLog, error)
}

// deviceLog is a log that is being written.
type deviceLog interface {
	// stop ends it and adds what there is to say.
	stop(w *record.Watch)
}

// source is a way to read devices that has answered, with what it said.
type source struct {
	deviceSource
	machine  device.Machine
	fallback string // why it is not the one that would be preferred; empty: it is
}

// chooseSource returns the source that the experiment asks for. With auto it is NVML, and
// nvidia-smi where that cannot be had. The error says why there is none.
func chooseSource(ctx context.Context, want string, o Options) (source, error) {
	if want == experiment.SourceSMI {
		return smiFrom(ctx, o)
	}
	viaNVML := nvmlSource{config: nvml.Config{Self: o.Self, Library: o.NVML, Env: o.Environ}}
	machine, err := viaNVML.survey(ctx)
	if err == nil {
		return source{deviceSource: viaNVML, machine: machine}, nil
	}
	err = fmt.Errorf("NVML cannot be used: %w", err)
	if want == experiment.SourceNVML {
		return source{}, err
	}
	chosen, smiErr := smiFrom(ctx, o)
	if smiErr != nil {
		return source{}, fmt.Errorf("%w; nor can nvidia-smi: %w", err, smiErr)
	}
	chosen.fallback = fmt.Sprintf("%v, so nvidia-smi is", err)
	return chosen, nil
}

func smiFrom(ctx context.Context, o Options) (source, error) {
	if o.SMI == nil {
		return source{}, fmt.Errorf("nvidia-smi is not on PATH: %w", fs.ErrNotExist)
	}
	viaSMI := smiSource{smi: *o.SMI}
	machine, err := viaSMI.survey(ctx)
	return source{deviceSource: viaSMI, machine: machine}, err
}

// nvmlSource samples in a child process: a driver call that hangs costs a gap.
type nvmlSource struct{ config nvml.Config }

func (s nvmlSource) survey(ctx context.Context) (device.Machine, error) {
	return nvml.List(ctx, s.config)
}

func (s nvmlSource) start(ctx context.Context, devices []device.Device, e experiment.Experiment, env []string, w *record.Watch) (deviceLog, error) {
	config := s.config
	config.Devices, config.Interval, config.Dir, config.Env = devices, e.Sampling.Interval, e.Dir, env
	logger, err := nvml.Keep(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, d := range logger.Latest().Devices {
		w.Baseline = append(w.Baseline, record.Baseline{Index: d.Index, Used: d.Baseline.Used})
	}
	return nvmlLog{logger}, nil
}

type nvmlLog struct{ logger *nvml.Keeper }

// nvmlGrace is the time that the sampler has for its last word.
const nvmlGrace = 4 * time.Second

func (l nvmlLog) stop(w *record.Watch) {
	summary := l.logger.Stop(nvmlGrace)
	w.Summary, w.Exit = &summary, summary.Exit
}

// smiSource has nvidia-smi itself write the log.
type smiSource struct{ smi smi.SMI }

func (s smiSource) survey(ctx context.Context) (device.Machine, error) { return s.smi.Survey(ctx) }

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
