package smi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

func two() []device.Device { return []device.Device{{Index: 0}, {Index: 1}} }

func TestAHungProgramDoesNotHangTheQuery(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	levels, err := fakeSMI(t, "hung").Read(ctx, two())
	if err == nil || !strings.Contains(err.Error(), "did not answer") || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if len(levels) != 2 || levels[0].Used.Known() || !strings.Contains(levels[1].Used.Gap, "did not answer") {
		t.Errorf("levels %+v, want two gaps that say why", levels)
	}
}

func TestReadTakesOneReading(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode    string
		devices []device.Device
		want    []device.Level
		err     string
	}{
		"of two devices":              {"good", two(), []device.Level{{Index: 0, Used: mib(4)}, {Index: 1, Used: mib(5)}}, ""},
		"one may not be read":         {"permission", two(), []device.Level{{Index: 0, Used: metric.Missing("nvidia-smi says [Insufficient Permissions]")}, {Index: 1, Used: mib(7)}}, ""},
		"one that is not printed":     {"good", []device.Device{{Index: 3}}, []device.Level{{Index: 3, Used: metric.Missing("nvidia-smi printed no row of this device")}}, ""},
		"a MIG slice is not asked":    {"good", []device.Device{{Index: -1, UUID: "MIG-1"}}, []device.Level{{Index: -1, Used: metric.Missing("nvidia-smi does not tell the memory of a MIG slice (MIG-1)")}}, "MIG slice"},
		"no device is nothing to ask": {"good", nil, []device.Level{}, "no device"},
		"an unknown device": {"unknown", []device.Device{{Index: 9}},
			[]device.Level{{Index: 9, Used: metric.Missing("nvidia-smi: exit 6: No devices were found")}}, "exit 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fakeSMI(t, tc.mode).Read(t.Context(), tc.devices)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
