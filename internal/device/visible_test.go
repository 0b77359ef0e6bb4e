package device

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	uuidA = "GPU-8f1e2d3c-0000-4111-8222-abcdefabcdef"
	uuidB = "GPU-0a1b2c3d-0000-4111-8222-abcdefabcdef"
	migA  = "MIG-1f2e3d4c-0000-5111-9222-abcdefabcdef"
	migB  = "MIG-2f2e3d4c-0000-5111-9222-abcdefabcdef"
	migC  = "MIG-3f2e3d4c-0000-5111-9222-abcdefabcdef"
)

// B09, B10: every form of CUDA_VISIBLE_DEVICES.
func TestParseVisibleReadsTheListAsCUDADoes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text     string
		want     []string
		problems int
	}{
		"two UUIDs":                                  {uuidA + "," + uuidB, []string{uuidA, uuidB}, 0},
		"a MIG UUID":                                 {migA, []string{migA}, 0},
		"a shortened MIG UUID":                       {"MIG-1f2e", []string{"MIG-1f2e"}, 0},
		"a slice as drivers before R470 name it":     {"MIG-GPU-8f1e/1/0", []string{"MIG-GPU-8f1e/1/0"}, 0},
		"a MIG UUID given twice empties the list":    {migA + "," + migA, nil, 1},
		"garbage behind a UUID ends the list":        {uuidA + ",x," + uuidB, []string{uuidA}, 1},
		"garbage behind a MIG UUID ends the list":    {migA + ",x," + migB, []string{migA}, 1},
		"-1 behind a UUID ends the list":             {uuidA + ",-1," + uuidB, []string{uuidA}, 1},
		"blanks around UUIDs are ignored":            {" " + uuidA + " ,\t" + uuidB, []string{uuidA, uuidB}, 0},
		"one index":                                  {"3", []string{"3"}, 0},
		"a shortened UUID":                           {"GPU-8932f937", []string{"GPU-8932f937"}, 0},
		"blanks around entries are ignored":          {" 0 , 1\t,2", []string{"0", "1", "2"}, 0},
		"-1 ends the list":                           {"0,-1,1", []string{"0"}, 1},
		"-1 alone leaves nothing":                    {"-1", nil, 1},
		"a word ends the list":                       {"3,none,1", []string{"3"}, 1},
		"a word alone leaves nothing":                {"NoDevFiles", nil, 1},
		"an empty entry ends the list":               {"0,,1", []string{"0"}, 1},
		"a comma at the end names nothing more":      {"0,1,", []string{"0", "1"}, 1},
		"an index given twice empties the list":      {"0,1,0", nil, 1},
		"the same index in another spelling, too":    {"1,01", nil, 1},
		"twice behind the end does not count":        {"0,-1,0", []string{"0"}, 1},
		"a UUID given twice empties the list":        {uuidA + "," + uuidA, nil, 1},
		"an index behind a UUID ends the list":       {uuidA + ",0", []string{uuidA}, 1},
		"a UUID behind an index ends the list":       {"0," + uuidA, []string{"0"}, 1},
		"a MIG slice behind a GPU ends the list":     {uuidA + "," + migA, []string{uuidA}, 1},
		"a bare prefix names nothing":                {"GPU-", nil, 1},
		"an empty text is no device":                 {"", nil, 0},
		"blanks alone are no device":                 {"  ", nil, 0},
		"what follows the digits is passed over":     {"1gpu,2", []string{"1gpu", "2"}, 0},
		"a number that no index holds ends the list": {"99999999999999999999,0", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ParseVisible(tc.text, true)
			if diff := cmp.Diff(tc.want, got.Entries); diff != "" || got.All {
				t.Errorf("entries of %q (-want +got):\n%s", tc.text, diff)
			}
			if len(got.Problems) != tc.problems {
				t.Errorf("problems %q, want %d", got.Problems, tc.problems)
			}
		})
	}
}

func TestUnsetIsEveryDeviceAndEmptyIsNone(t *testing.T) {
	t.Parallel()
	m := machine(gpu(0, uuidA), gpu(1, uuidB))
	for text, want := range map[string]int{"unset": 2, "": 0, " ": 0, "-1": 0, "0": 1} {
		seen, _ := m.Seen(ParseVisible(text, text != "unset"))
		if len(seen) != want {
			t.Errorf("%q sees %d devices, want %d", text, len(seen), want)
		}
	}
}

func TestJoinHandsOnTheFirstEntriesUnchanged(t *testing.T) {
	t.Parallel()
	v := ParseVisible(uuidA+","+uuidB, true)
	for n, want := range map[int]string{1: uuidA, 2: uuidA + "," + uuidB, 3: uuidA + "," + uuidB, 0: ""} {
		if got := v.Join(n); got != want {
			t.Errorf("Join(%d) = %q, want %q", n, got, want)
		}
	}
}

func gpu(index int, uuid string) Surveyed {
	return Surveyed{Device: Device{Index: index, UUID: uuid}, MIG: MIGOff}
}

// cut is a GPU with MIG enabled.
func cut(index int, uuid string, slices ...string) Surveyed {
	d := gpu(index, uuid)
	d.MIG = MIGOn
	for _, s := range slices {
		d.Slices = append(d.Slices, Surveyed{Device: Device{Index: -1, UUID: s}, Parent: uuid})
	}
	return d
}

func machine(devices ...Surveyed) Machine { return Machine{Source: "nvml", Devices: devices} }

// B10: CUDA takes indices, UUIDs, and their beginnings.
func TestResolveFindsDevices(t *testing.T) {
	t.Parallel()
	five, two := gpu(5, uuidA).Device, gpu(2, uuidB).Device
	m := machine(gpu(2, uuidB), gpu(5, uuidA), gpu(7, "GPU-8f1e2d3c-0000-4111-8222-000000000000"), cut(8, "GPU-cccc", migA, migB), cut(9, "GPU-dddd", migC), cut(10, "GPU-eeee"))
	slice := func(uuid string) []Device { return []Device{{Index: -1, UUID: uuid}} }
	for name, tc := range map[string]struct {
		text    string
		want    []Device
		problem string
	}{
		"by UUID in the order of the list":             {uuidA + "," + uuidB, []Device{five, two}, ""},
		"by index":                                     {"2,5", []Device{two, five}, ""},
		"with blanks":                                  {" 2 ,\t5 ", []Device{two, five}, ""},
		"by a prefix of one UUID":                      {"GPU-0a1b", []Device{two}, ""},
		"a prefix of two UUIDs names none":             {uuidB + ",GPU-8f1e2d3c", []Device{two}, "beginning of 2"},
		"an index that is not there ends the list":     {"2,0,5", []Device{two}, "no device 0 among the 6 that nvml lists"},
		"a UUID that is not there ends the list":       {"GPU-ffff", nil, "no device GPU-ffff"},
		"one device under two prefixes empties a list": {"GPU-0a1b," + uuidB, nil, "already holds"},
		"an index given twice empties a list":          {"2,5,02", nil, "twice"},
		"garbage after a valid one ends the list":      {"2,x,5", []Device{two}, "ends the list"},
		"-1 after a valid one ends the list":           {"2,-1,5", []Device{two}, "ends the list"},
		"a MIG slice by UUID":                          {migB, slice(migB), ""},
		"a MIG slice by a prefix":                      {"MIG-2", slice(migB), ""},
		"a prefix of two slices names none":            {"MIG-", nil, "ends the list"},
		"a MIG slice that is not listed is kept":       {"MIG-7777", slice("MIG-7777"), "nvml does not list"},
		"a slice as drivers before R470 name it":       {"MIG-GPU-cccc/1/0", slice("MIG-GPU-cccc/1/0"), "nvml does not list"},
		"a cut GPU is its first slice, with a doubt":   {"8", slice(migA), "cut into 2 MIG slices"},
		"a cut GPU by UUID, too":                       {"GPU-cccc", slice(migA), "cut into 2 MIG slices"},
		"a cut GPU with one slice is that slice":       {"9", slice(migC), ""},
		"a cut GPU without a slice is nothing":         {"10", nil, "no program can use it"},
		"a cut GPU and its slice are one device":       {"9,9", nil, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := m.Seen(ParseVisible(tc.text, true))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			text := strings.Join(problems, "\n")
			if (tc.problem == "") != (text == "") || !strings.Contains(text, tc.problem) {
				t.Errorf("problems %q, want one with %q", text, tc.problem)
			}
		})
	}
}

func TestTheSourceThatWasAskedIsNamed(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"nvml", "nvidia-smi", "somebody"} {
		m := machine(gpu(0, uuidA), cut(1, uuidB))
		m.Source = source
		for _, entry := range []string{"7", "GPU-ffff", "MIG-7777", "1"} {
			_, problems := m.Resolve([]string{entry})
			if len(problems) != 1 || !strings.Contains(problems[0], source+" ") {
				t.Errorf("%s asked for %s: problems %q do not name it", source, entry, problems)
			}
		}
	}
}

func TestUsableDevicesAreGPUsOrSlicesNeverACutGPU(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		m    Machine
		want string // as entries
		note string
	}{
		"GPUs by index":                   {machine(gpu(0, uuidA), gpu(1, uuidB)), "0,1", ""},
		"a GPU that has no UUID":          {machine(gpu(0, "")), "0", ""},
		"slices of one GPU":               {machine(cut(0, uuidA, migA, migB)), migA + "," + migB, ""},
		"slices of two GPUs":              {machine(cut(0, uuidA, migA), cut(1, uuidB, migB, migC)), migA + "," + migB + "," + migC, ""},
		"a whole GPU beside slices":       {machine(cut(0, uuidA, migA, migB), gpu(1, uuidB)), uuidB, "2 MIG slices are left out"},
		"a GPU that is cut into nothing":  {machine(cut(0, uuidA)), "", "no program can use it"},
		"one cut into nothing, one whole": {machine(cut(0, uuidA), gpu(1, uuidB)), uuidB, "no program can use it"},
		"no device":                       {machine(), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, notes := tc.m.Usable()
			if got := strings.Join(tc.m.Entries(found), ","); got != tc.want {
				t.Errorf("entries %q, want %q", got, tc.want)
			}
			if text := strings.Join(notes, "; "); (tc.note == "") != (text == "") || !strings.Contains(text, tc.note) {
				t.Errorf("notes %q, want %q", text, tc.note)
			}
		})
	}
}

func FuzzParseVisible(f *testing.F) {
	for _, seed := range []string{"0,1", uuidA, "-1", " 0 ,, 1", "+1,1", "MIG-a,MIG-a", "0x1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := ParseVisible(text, true)
		if len(v.Entries) > strings.Count(text, ",")+1 {
			t.Fatalf("%d entries of %q", len(v.Entries), text)
		}
		again := ParseVisible(strings.Join(v.Entries, ","), true)
		if diff := cmp.Diff(v.Entries, again.Entries); diff != "" || len(again.Problems) > 0 {
			t.Errorf("what was read is not read the same again (-first +again): %s %q", diff, again.Problems)
		}
	})
}
