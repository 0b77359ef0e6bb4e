// Package smi asks nvidia-smi: which devices there are, how much memory is in use on
// them now, and, through a process that runs beside an experiment, how much over time.
//
// It is the only user of nvidia-smi. No call waits for it without bound, since a sick
// driver makes it hang; what it prints is read by package device.
package smi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// Bounds of waiting.
const (
	queryTimeout = 10 * time.Second // for one answer, where the context sets no shorter time
	killGrace    = 2 * time.Second  // for a killed process to be gone
)

// SMI is an nvidia-smi to ask. The zero value is the one on PATH.
type SMI struct {
	Path string   // of the program; empty: nvidia-smi, looked up on PATH
	Env  []string // its environment for Survey and Read; nil: the inherited one
}

func (s SMI) path() string {
	if s.Path == "" {
		return "nvidia-smi"
	}
	return s.Path
}

// Read takes one reading of the devices' memory, in bytes. A device that could not be
// read is a gap; with an error every device is one.
func (s SMI) Read(ctx context.Context, devices []device.Device) ([]device.Level, error) {
	ids, err := ids(devices)
	if err != nil {
		return gaps(devices, err.Error()), fmt.Errorf("reading device memory: %w", err)
	}
	out, err := s.query(ctx, logColumns, "--format=csv", "--id="+ids)
	if err != nil {
		return gaps(devices, err.Error()), fmt.Errorf("reading device memory: %w", err)
	}
	levels := gaps(devices, "nvidia-smi printed no row of this device")
	notes, err := device.ReadLog(bytes.NewReader(out), func(r device.Reading) {
		for i := range levels {
			if levels[i].Index == r.Index {
				levels[i].Used = metric.Of(float64(r.Used))
			}
		}
	})
	for i := range levels {
		for _, seen := range notes.Devices {
			if seen.Index == levels[i].Index && seen.Readings == 0 {
				levels[i].Used = metric.Missing("nvidia-smi says " + strings.Join(seen.Texts, ", "))
			}
		}
	}
	return levels, err
}

func gaps(devices []device.Device, reason string) []device.Level {
	levels := make([]device.Level, len(devices))
	for i, d := range devices {
		levels[i] = device.Level{Index: d.Index, Used: metric.Missing(reason)}
	}
	return levels
}

// ids spells the devices for --id: by UUID, which names the same device in every
// order, or by index where there is none.
func ids(devices []device.Device) (string, error) {
	if len(devices) == 0 {
		return "", errors.New("no device to ask for")
	}
	var names []string
	for _, d := range devices {
		switch {
		case d.IsMIG():
			return "", fmt.Errorf("nvidia-smi does not tell the memory of a MIG slice (%s)", d.UUID)
		case d.UUID != "":
			names = append(names, d.UUID)
		default:
			names = append(names, strconv.Itoa(d.Index))
		}
	}
	return strings.Join(names, ","), nil
}

// query runs nvidia-smi once and returns what it printed, also beside an error.
func (s SMI) query(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var stdout, stderr head
	cmd := exec.Command(s.path(), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.Env, &stdout, &stderr
	cmd.WaitDelay = killGrace
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.signal(syscall.SIGKILL)
		if !p.wait(killGrace) {
			return nil, fmt.Errorf("nvidia-smi did not answer and survives SIGKILL: %w", ctx.Err())
		}
		return stdout.bytes(), fmt.Errorf("nvidia-smi did not answer: %w", ctx.Err())
	}
	if end := p.end(); end != "" {
		return stdout.bytes(), fmt.Errorf("nvidia-smi: %s", withLine(end, stdout.bytes(), stderr.bytes()))
	}
	return stdout.bytes(), nil
}

// withLine adds the first line that was printed: nvidia-smi tells its errors on
// standard output.
func withLine(end string, texts ...[]byte) string {
	for _, text := range texts {
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd"))
			if line != "" && !strings.HasPrefix(line, "timestamp,") {
				return end + ": " + line
			}
		}
	}
	return end
}
