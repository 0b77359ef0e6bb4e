package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// A folder that was copied or moved is where it is now, not where it was planned.
	here, err := filepath.Abs(dir)
	if err != nil {
		return record.Record{}, fmt.Errorf("find the experiment's folder: %w", err)
	}
	if here != e.Dir {
		e = e.Relocate(here)
		if err := e.Save(); err != nil {
			return record.Record{}, err
		}
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
	e, given, err := withSecrets(e, o.Environ)
	if err != nil {
		return rec, err
	}
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
	rec, ending, err := watched(ctx, e, command{argv: argv, token: held.token}, at, o)
	if err != nil {
		return rec, err
	}
	rec.Notes = append(rec.Notes, given...)
	if err := judge(e.Dir, ending, &rec); err != nil {
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
		return named(entry, e.Env) || slices.Contains(e.Unset, name)
	})
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		env = append(env, name+"="+e.Env[name])
	}
	return env
}

// named reports whether an entry NAME=value is one of the variables.
func named(entry string, variables map[string]string) bool {
	name, _, _ := strings.Cut(entry, "=")
	_, ok := variables[name]
	return ok
}

// watched runs the command with its samplers around it.
func watched(ctx context.Context, e experiment.Experiment, c command, at place, o Options) (record.Record, outcome.Ending, error) {
	rec := record.Record{
		Version: record.Version, Tunebench: o.Version, Experiment: e, Argv: c.argv, Hostname: hostname(),
	}
	tellGuard, release, err := startGuard(c.token, o)
	if err != nil {
		return rec, outcome.Ending{}, err
	}
	defer release()
	c.tellGuard = tellGuard
	devices, busy := watchDevices(ctx, e, c.token, o)
	rec.Started = time.Now()
	ending := refused(busy)
	if busy == nil {
		ending = measured(ctx, &rec, c, at, devices, o)
	}
	rec.Duration = time.Since(rec.Started)
	rec.Watch = devices.stop(rec.FamilyPIDs)
	return rec, ending, nil
}

// startGuard starts the guard over the family of that token, where tunebench knows its
// own path.
func startGuard(token string, o Options) (tell func([]int), release func(), err error) {
	if o.Self == "" {
		return func([]int) {}, func() {}, nil
	}
	guard, err := local.StartGuard(o.Self, token, o.Environ)
	if err != nil {
		return nil, nil, err
	}
	return guard.Tell, func() {
		if err := guard.Release(); err != nil {
			o.warn(err.Error())
		}
	}, nil
}

// refused is the ending of an experiment that was not started.
func refused(reason error) outcome.Ending {
	if reason == nil {
		return outcome.Ending{}
	}
	text, interrupted := notStarted(reason)
	if interrupted {
		return outcome.Ending{Stopped: outcome.StoppedInterrupted, StopDetail: text}
	}
	return outcome.Ending{StartError: text}
}

// measured starts the trainer with the probe, stays with it to its end, and notes in
// the record what was seen beside the device log.
func measured(ctx context.Context, rec *record.Record, c command, at place, devices *deviceWatch, o Options) outcome.Ending {
	e := rec.Experiment
	c.env, rec.Probe = installProbe(e, c.argv, environment(o.Environ, e))
	before, cgroupErr := host.CgroupOOMKills()
	ending, seen := run(ctx, e, c, at, devices, o)
	rec.Host, rec.FamilyPIDs, rec.StartFailure = seen.host, seen.pids, seen.failure
	noteIgnored(rec.Probe, seen.ignored)
	if after, err := host.CgroupOOMKills(); err == nil && cgroupErr == nil {
		ending.OOMKills = max(0, after-before)
	}
	return ending
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
	stdout, err := openLog(dir, StdoutName)
	if err != nil {
		return trainer.Final{}, err
	}
	defer func() { _ = stdout.Close() }() // it was only read
	return trainer.ReadFinal(stdout, os.DirFS(filepath.Join(dir, OutputDir)))
}

func scanLogs(dir string) (outcome.LogEvidence, error) {
	stdout, err := openLog(dir, StdoutName)
	if err != nil {
		return outcome.LogEvidence{}, err
	}
	defer func() { _ = stdout.Close() }() // it was only read
	stderr, err := openLog(dir, StderrName)
	if err != nil {
		return outcome.LogEvidence{}, err
	}
	defer func() { _ = stderr.Close() }() // it was only read
	return outcome.ScanLogs(stdout, stderr), nil
}

// openLog opens what the trainer printed; an experiment that was not started printed nothing.
func openLog(dir, name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the trainer printed: %w", err)
	}
	return file, nil
}
