package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/progress"
	"tunebench/internal/record"
	"tunebench/internal/unit"
)

// surveys is a source whose surveys are those of the list, the last one for ever.
type surveys struct {
	list  [][]device.Surveyed
	asked int
}

func (s *surveys) survey(ctx context.Context) (device.Machine, error) {
	now := s.list[min(s.asked, len(s.list)-1)]
	s.asked++
	return device.Machine{Devices: now}, ctx.Err()
}

func (*surveys) start(context.Context, []device.Device, experiment.Experiment, []string, *record.Watch) (deviceLog, error) {
	return nil, errors.New("not in this test")
}

// heard keeps the warnings.
type heard struct{ warnings []string }

func (h *heard) Event(e progress.Event) { h.warnings = append(h.warnings, e.Message) }

func holds(pid int, used metric.Value) device.ProcessUse {
	return device.ProcessUse{PID: pid, Used: used}
}

func mebi(n float64) metric.Value { return metric.Of(n * float64(unit.MiB)) }

// holding is device 0 with what it holds.
func holding(used metric.Value, busy float64, processes ...device.ProcessUse) device.Surveyed {
	return device.Surveyed{Used: used, Utilisation: metric.Of(busy), Processes: processes}
}

func TestASmallProcessDoesNotMakeADeviceBusy(t *testing.T) {
	t.Parallel()
	unknown := metric.Missing("not told")
	for name, tc := range map[string]struct {
		device device.Surveyed
		busy   bool
		noted  bool
	}{
		"nobody":                                    {holding(mebi(3), 0), false, false},
		"a desktop of some MiB":                     {holding(mebi(20), 0, holds(900, mebi(4)), holds(901, mebi(9))), false, true},
		"just below the threshold":                  {holding(mebi(70), 0, holds(900, mebi(63.9))), false, true},
		"at the threshold":                          {holding(mebi(70), 0, holds(900, mebi(64))), true, false},
		"a small one beside a large one":            {holding(mebi(900), 0, holds(900, mebi(4)), holds(7, mebi(800))), true, true},
		"a small one on a device that works":        {holding(mebi(20), 97, holds(900, mebi(4))), true, false},
		"a small one on a desktop that flickers":    {holding(mebi(20), 2, holds(900, mebi(4))), false, true},
		"unknown amount of a device that is in use": {holding(mebi(900), 0, holds(900, unknown)), true, false},
		"unknown amount of a nearly empty device":   {holding(mebi(9), 0, holds(900, unknown)), false, true},
		"nothing is known":                          {holding(unknown, 0, holds(900, unknown)), true, false},
		"utilisation is not known": {
			device.Surveyed{Used: mebi(9), Utilisation: unknown, Processes: []device.ProcessUse{holds(900, mebi(4))}}, false, true},
		"no list and much memory":   {device.Surveyed{Used: mebi(2000), Utilisation: unknown, ProcessesGap: "not asked"}, true, false},
		"no list and little memory": {device.Surveyed{Used: mebi(200), Utilisation: unknown, ProcessesGap: "not asked"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, small := foreignOn(tc.device)
			if (users != "") != tc.busy || (small != "") != tc.noted {
				t.Errorf("users %q, small %q; want busy %v, noted %v", users, small, tc.busy, tc.noted)
			}
		})
	}
}

func TestASmallProcessIsNotedAndEndsNoWait(t *testing.T) {
	t.Parallel()
	desktop := &surveys{list: [][]device.Surveyed{{holding(mebi(20), 0, holds(900, mebi(4)))}}}
	for _, foreign := range []string{experiment.ForeignWarn, experiment.ForeignFail, experiment.ForeignWait} {
		h := &heard{}
		notes, err := await(t.Context(), desktop, []device.Device{{}}, asking(foreign), Options{Listener: h, idle: newIdle()})
		want := []string{"before the start process 900 held 4.00 MiB of device 0 (less than 64.0 MiB each, which does not count as use)"}
		if diff := cmp.Diff(want, notes); diff != "" || err != nil || len(h.warnings) > 0 {
			t.Errorf("--foreign %s: error %v, warnings %q, notes (-want +got)\n%s", foreign, err, h.warnings, diff)
		}
	}
}

func asking(foreign string) experiment.Experiment {
	return experiment.Experiment{Name: "exp_0", Sampling: experiment.Sampling{Foreign: foreign}}
}

func TestWhatIsWaitedForIsSaidAtOnceAndNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used := []device.Surveyed{holding(mebi(900), 0, holds(7, mebi(800)))}
		src := &surveys{list: append(slices.Repeat([][]device.Surveyed{used}, 70), []device.Surveyed{holding(mebi(3), 0)})}
		h, began := &heard{}, time.Now()
		if _, err := await(t.Context(), src, []device.Device{{}}, asking(experiment.ForeignWait), Options{Listener: h}); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != 70*time.Second {
			t.Errorf("waited %v, want 70s: until the device was free", got)
		}
		want := []string{
			"exp_0 waits for others to leave the device (--foreign wait): process 7 held 800 MiB of device 0",
			"exp_0 waits for others to leave the device (--foreign wait), 30s so far: process 7 held 800 MiB of device 0",
			"exp_0 waits for others to leave the device (--foreign wait), 1m0s so far: process 7 held 800 MiB of device 0",
		}
		if diff := cmp.Diff(want, h.warnings); diff != "" {
			t.Errorf("warnings (-want +got)\n%s", diff)
		}
	})
}

func TestTheWaitForLeftMemoryHasAnEnd(t *testing.T) {
	t.Parallel()
	free, left := []device.Surveyed{holding(mebi(3), 0)}, []device.Surveyed{holding(mebi(5000), 0)}
	used := []device.Surveyed{holding(mebi(6000), 0, holds(7, mebi(5900)))}
	for name, tc := range map[string]struct {
		surveys [][]device.Surveyed
		waits   time.Duration
		notes   int
	}{
		"nothing is left":                          {[][]device.Surveyed{free}, 0, 0},
		"it is given back":                         {append(slices.Repeat([][]device.Surveyed{left}, 5), free), 5 * time.Second, 0},
		"it is never given back":                   {[][]device.Surveyed{left}, leftoverWait, 1},
		"it has its own time after others' memory": {append(slices.Repeat([][]device.Surveyed{used}, 100), left), 100*time.Second + leftoverWait, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				known := newIdle()
				known.leftover(device.Device{}, mebi(3))
				h, began := &heard{}, time.Now()
				notes, err := await(t.Context(), &surveys{list: tc.surveys}, []device.Device{{}}, asking(experiment.ForeignWait), Options{Listener: h, idle: known})
				if got := time.Since(began); err != nil || got != tc.waits || len(notes) != tc.notes {
					t.Errorf("waited %v, notes %q, error %v; want %v and %d notes", got, notes, err, tc.waits, tc.notes)
				}
				if tc.waits > 0 && !strings.Contains(strings.Join(h.warnings, "\n"), "waits at most 30s for memory to be given back: device 0 still holds 4.88 GiB") {
					t.Errorf("warnings %q, want what is waited for", h.warnings)
				}
			})
		})
	}
}

func TestAnInterruptEndsEveryWait(t *testing.T) {
	t.Parallel()
	known := newIdle()
	known.leftover(device.Device{}, mebi(3))
	for name, seen := range map[string]device.Surveyed{
		"for others":          holding(mebi(900), 0, holds(7, mebi(800))),
		"for others, no list": {Used: mebi(2000), ProcessesGap: "not asked"},
		"for left memory":     holding(mebi(5000), 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(2500*time.Millisecond, cancel)
				began := time.Now()
				_, err := await(ctx, &surveys{list: [][]device.Surveyed{{seen}}}, []device.Device{{}}, asking(experiment.ForeignWait), Options{idle: known})
				if got := time.Since(began); !errors.Is(err, context.Canceled) || got != 2500*time.Millisecond {
					t.Errorf("ended after %v with %v, want the interrupt at once", got, err)
				}
			})
		})
	}
}
