package device

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/unit"
)

const header = "timestamp, name, index, memory.used [MiB]\n"

type short struct {
	Index int
	Name  string
	Used  unit.Bytes
}

func readAll(t *testing.T, text string) ([]short, LogNotes) {
	t.Helper()
	var got []short
	notes, err := ReadLog(strings.NewReader(text), func(r Reading) {
		got = append(got, short{r.Index, r.Name, r.Used / unit.MiB})
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, notes
}

func TestReadLogReads(t *testing.T) {
	t.Parallel()
	l4 := []short{{0, "NVIDIA L4", 3}, {0, "NVIDIA L4", 21501}}
	rows := "2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 21501 MiB\n"
	for name, tc := range map[string]struct {
		text string
		want []short
	}{
		"plain rows":                        {header + rows, l4},
		"a cut number at the end":           {header + rows + "2025/03/04 10:00:04.111, NVIDIA L4, 0, 21", l4},
		"a cut name at the end":             {header + rows + "2025/03/04 10:00:04.111, NVIDIA L", l4},
		"a cut index at the end":            {header + rows + "2025/03/04 10:00:04.111, NVIDIA L4, 1", l4},
		"a whole last row without line end": {header + rows + "2025/03/04 10:00:04.111, NVIDIA L4, 1, 5 MiB", l4},
		"carriage returns":                  {strings.ReplaceAll(header+rows, "\n", "\r\n"), l4},
		"a byte-order mark":                 {"\ufeff" + header + rows, l4},
		"a header that comes again":         {header + strings.ReplaceAll(rows, "\n", "\n"+header), l4},
		"no units in the cells":             {header + strings.ReplaceAll(rows, " MiB", ""), l4},
		"other columns in another order": {
			"index, uuid, memory.used [MiB], name, timestamp\n" +
				"4, GPU-1, 7 MiB, Card, with, commas, 2025/03/04 10:00:01.101\n",
			[]short{{4, "Card, with, commas", 7}}},
		"no name column":                       {"index, memory.used [MiB]\n0, 9 MiB\n0, 9 MiB, more\n", []short{{0, "", 9}}},
		"rows without a header are not placed": {rows, nil},
		"a number too large for any device":    {header + "2025/03/04 10:00:01.101, X, 0, 99999999999999 MiB\n", nil},
		"a negative number":                    {header + "2025/03/04 10:00:01.101, X, 0, -1 MiB\n", nil},
		"other units": {header + "2025/03/04 10:00:01.101, X, 0, 2 GiB\n2025/03/04 10:00:01.101, X, 0, 2 XB\n",
			[]short{{0, "X", 2048}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, notes := readAll(t, tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" || notes.Readings != len(tc.want) {
				t.Errorf("%d readings (-want +got):\n%s", notes.Readings, diff)
			}
		})
	}
}

func TestReadLogKeepsWhatIsNoReading(t *testing.T) {
	t.Parallel()
	const lost = "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system to recover this GPU"
	const row = "2025/03/04 10:00:01.101, X, 0, 4 MiB\n"
	for name, tc := range map[string]struct {
		text    string
		foreign int
		err     string
		last    bool
		cut     bool
	}{
		"a lost device at the end":               {header + row + lost + "\n", 1, lost, true, false},
		"a lost device without a line end":       {header + row + lost, 1, lost, true, false},
		"an error that other devices survived":   {header + lost + "\n" + row, 1, lost, false, false},
		"a line before the header is foreign":    {"ERROR: no input\n" + header + row, 1, "", false, false},
		"a line between rows is foreign":         {header + row + "hello\n" + row, 1, "", false, false},
		"any last line may be the tool's end":    {header + row + "Terminated\n", 1, "Terminated", true, false},
		"the first error counts":                 {"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 555.42\n", 2, "Failed to initialize NVML: Driver/library version mismatch", true, false},
		"no device":                              {"No devices were found\n", 1, "No devices were found", true, false},
		"a cut row is neither foreign nor error": {header + row + "2025/03/04 1", 0, "", false, true},
		"nothing at all":                         {"", 0, "", false, false},
		"a line longer than any row":             {header + row + strings.Repeat("x,", 1<<17) + "\n" + row, 1, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, notes := readAll(t, tc.text)
			got := ""
			if notes.Error != nil {
				got = notes.Error.Text
			}
			if got != tc.err || notes.ErrorLast != tc.last || notes.ForeignAll != tc.foreign || (notes.Cut != nil) != tc.cut {
				t.Errorf("error %q last %v, %d foreign, cut %v; want %q %v, %d, %v",
					got, notes.ErrorLast, notes.ForeignAll, notes.Cut, tc.err, tc.last, tc.foreign, tc.cut)
			}
		})
	}
}

func TestReadLogCountsUnreadableRowsPerDevice(t *testing.T) {
	t.Parallel()
	_, notes := readAll(t, header+
		"2025/03/04 10:00:01.101, A, 0, 3 MiB\n"+
		"2025/03/04 10:00:01.101, B, 1, [Insufficient Permissions]\n"+
		"2025/03/04 10:00:02.101, A, 0, [N/A]\n"+
		"2025/03/04 10:00:02.101, B, 1, [Insufficient Permissions]\n"+
		"2025/03/04 10:00:03.101, A, 0, [Not Supported]\n")
	want := []Seen{
		{Index: 0, Name: "A", Readings: 1, Unreadable: 2, Texts: []string{"[N/A]", "[Not Supported]"}, FirstLine: 4},
		{Index: 1, Name: "B", Unreadable: 2, Texts: []string{"[Insufficient Permissions]"}, FirstLine: 3},
	}
	if diff := cmp.Diff(want, notes.Devices); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadLogReturnsAReaderError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	in := io.MultiReader(strings.NewReader(header+"2025/03/04 10:00:01.101, A, 0, 3 MiB\n"), iotest.ErrReader(broken))
	notes, err := ReadLog(in, func(Reading) {})
	if !errors.Is(err, broken) || notes.Readings != 1 {
		t.Errorf("error %v with %d readings, want %v with 1", err, notes.Readings, broken)
	}
}

func FuzzReadLog(f *testing.F) {
	for _, seed := range []string{
		header + "2025/03/04 10:00:01.101, Example GPU 12GB, rev B, 0, 100 MiB\n\n2025/03/04 10:00:01.101, X, 0, [N/A]\n",
		"\ufeff" + header, "index, memory.used\n1, 2\n", "Failed to initialize NVML\n", header + "2025/03/04 10:00:04.111, NVIDIA L",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var sum int
		notes, err := ReadLog(strings.NewReader(text), func(r Reading) {
			sum++
			if r.Used < 0 || r.Index < 0 {
				t.Fatalf("reading %+v", r)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		perDevice, rows := 0, notes.ForeignAll
		for _, s := range notes.Devices {
			perDevice += s.Readings
			rows += s.Readings + s.Unreadable
		}
		if sum != notes.Readings || perDevice != sum || rows > strings.Count(text, "\n")+1 {
			t.Errorf("%d handed on, %d noted, %d per device, %d rows", sum, notes.Readings, perDevice, rows)
		}
		if (notes.Error == nil) && notes.ErrorLast || notes.ForeignAll < len(notes.Foreign) {
			t.Errorf("notes contradict themselves: %+v", notes)
		}
		// What stands behind the last line end is never a reading.
		whole, _ := ReadLog(strings.NewReader(text[:strings.LastIndexByte(text, '\n')+1]), func(Reading) {})
		if whole.Readings != notes.Readings {
			t.Errorf("%d readings, %d without the cut line", notes.Readings, whole.Readings)
		}
	})
}
