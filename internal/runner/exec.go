package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/device/host"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
)

// Exec runs the experiment that dir describes, watched, and writes its record there.
// The outcome is in the record; the error is of tunebench itself.
func Exec(ctx context.Context, dir string, o Options) (record.Record, error) {
	e, err := experiment.Load(dir)
	if err != nil {
		return record.Record{}, err
	}
	return execute(ctx, e, place{n: 1, total: 1, clock: newClock(1)}, o)
}

func execute(ctx context.Context, e experiment.Experiment, at place, o Options) (rec record.Record, err error) {
	held, left, err := take(e.Dir, o.grace())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	o.warn(left)
	if err := clearWay(e); err != nil {
		return rec, err
	}
	argv, err := withPort(e)
	if err != nil {
		return rec, err
	}
	if err := writeScript(e, argv); err != nil {
		return rec, err
	}
	o.tell(at.event(progress.Event{Kind: progress.Started}, e))
	rec, err = watched(ctx, e, argv, held.token, at, o)
	if err != nil {
		return rec, err
	}
	if err := record.Write(e.Dir, rec); err != nil {
		return rec, err
	}
	at.clock.add(rec.Duration)
	o.tell(at.event(progress.Event{
		Kind: progress.Finished, Status: rec.Outcome.Status, Reason: rec.Outcome.Reason, Duration: rec.Duration.Seconds(),
	}, e))
	return rec, nil
}

// clearWay makes the folder fit for a start: no old record, no old logs, nothing old in
// the trainer's own folder, and the bundled trainer's script where it is needed.
func clearWay(e experiment.Experiment) error {
	if err := errors.Join(forgetResults(e.Dir), setAside(e.Dir)); err != nil {
		return err
	}
	if e.Trainer != trainer.HF {
		return nil
	}
	if err := os.WriteFile(filepath.Join(e.Dir, trainer.ScriptName), trainer.Script(), 0o644); err != nil {
		return fmt.Errorf("write the bundled trainer: %w", err)
	}
	return nil
}

// withPort returns the arguments with a free port where the plan left it open. The port
// is picked as late as can be; a program that takes it in the meantime is seen as the
// outcome "port".
func withPort(e experiment.Experiment) ([]string, error) {
	argv := slices.Clone(e.Argv)
	if e.PortArg <= 0 || e.PortArg >= len(argv) || argv[e.PortArg] != "0" {
		return argv, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }() // it only lent its number
	argv[e.PortArg] = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	return argv, nil
}

// environment returns the trainer's whole environment: what tunebench inherited, less
// what the experiment unsets, with what it sets on top.
func environment(inherited []string, e experiment.Experiment) []string {
	env := slices.DeleteFunc(slices.Clone(inherited), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, set := e.Env[name]
		return set || slices.Contains(e.Unset, name)
	})
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		env = append(env, name+"="+e.Env[name])
	}
	return env
}

// watched runs the command with its samplers around it and judges the end.
func watched(ctx context.Context, e experiment.Experiment, argv []string, token string, at place, o Options) (record.Record, error) {
	rec := record.Record{
		Version: record.Version, Tunebench: o.Version, Experiment: e, Argv: argv, Hostname: hostname(),
	}
	if o.Self != "" {
		guard, err := local.StartGuard(o.Self, token, o.Environ)
		if err != nil {
			return rec, err
		}
		defer func() {
			if err := guard.Release(); err != nil {
				o.warn(err.Error())
			}
		}()
	}
	devices := watchDevices(ctx, e, token, o)
	rec.Started = time.Now()
	before, cgroupErr := host.CgroupOOMKills()
	ending, hostNotes := run(ctx, e, argv, token, at, devices, o)
	rec.Duration = time.Since(rec.Started)
	rec.Watch = devices.stop()
	rec.Host = hostNotes
	if after, err := host.CgroupOOMKills(); err == nil && cgroupErr == nil {
		ending.OOMKills = max(0, after-before)
	}
	return rec, judge(e.Dir, ending, &rec)
}

// judge reads what the trainer left and says how the experiment ended.
func judge(dir string, ending outcome.Ending, rec *record.Record) error {
	final, err := readFinal(dir)
	if err != nil {
		return err
	}
	logs, err := scanLogs(dir)
	if err != nil {
		return err
	}
	rec.Metrics, rec.MetricsFrom = final.Metrics, final.From
	rec.Notes = append(rec.Notes, final.Notes...)
	rec.Outcome = outcome.Judge(outcome.Evidence{Ending: ending, MetricsFound: final.Found, Logs: logs})
	return nil
}

func readFinal(dir string) (trainer.Final, error) {
	stdout, err := os.Open(filepath.Join(dir, StdoutName))
	if err != nil {
		return trainer.Final{}, fmt.Errorf("read the trainer's output: %w", err)
	}
	defer func() { _ = stdout.Close() }() // it was only read
	return trainer.ReadFinal(stdout, os.DirFS(filepath.Join(dir, OutputDir)))
}

func scanLogs(dir string) (outcome.LogEvidence, error) {
	stderr, err := os.Open(filepath.Join(dir, StderrName))
	if err != nil {
		return outcome.LogEvidence{}, fmt.Errorf("read the trainer's errors: %w", err)
	}
	defer func() { _ = stderr.Close() }() // it was only read
	stdout, err := os.Open(filepath.Join(dir, StdoutName))
	if err != nil {
		return outcome.LogEvidence{}, fmt.Errorf("read the trainer's output: %w", err)
	}
	defer func() { _ = stdout.Close() }() // it was only read
	return outcome.ScanLogs(stdout, stderr), nil
}
