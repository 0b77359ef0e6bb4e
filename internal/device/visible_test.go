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
)

func TestParseVisibleReadsTheListAsCUDADoes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text     string
		want     []string
		problems int
	}{
		"two UUIDs":                                  {uuidA + "," + uuidB, []string{uuidA, uuidB}, 0},
		"a MIG UUID":                                 {migA, []string{migA}, 0},
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

func TestParseVisibleTellsUnsetFromEmpty(t *testing.T) {
	t.Parallel()
	all := []Device{{Index: 0}, {Index: 1}}
	unset, _ := ParseVisible("", false).Devices(all)
	empty, _ := ParseVisible("", true).Devices(all)
	if len(unset) != 2 || len(empty) != 0 {
		t.Errorf("unset sees %d devices, want 2; empty sees %d, want 0", len(unset), len(empty))
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

func TestResolveFindsDevices(t *testing.T) {
	t.Parallel()
	five, two := Device{Index: 5, UUID: uuidA, Name: "A"}, Device{Index: 2, UUID: uuidB, Name: "B"}
	all := []Device{two, five, {Index: 7, UUID: "GPU-8f1e2d3c-0000-4111-8222-000000000000"}}
	for name, tc := range map[string]struct {
		entries []string
		want    []Device
		problem string
	}{
		"by UUID in the order of the list":             {[]string{uuidA, uuidB}, []Device{five, two}, ""},
		"by index":                                     {[]string{"2", "5"}, []Device{two, five}, ""},
		"by a prefix of one UUID":                      {[]string{"GPU-0a1b"}, []Device{two}, ""},
		"a prefix of two UUIDs names none":             {[]string{uuidB, "GPU-8f1e2d3c"}, []Device{two}, "beginning of 2"},
		"an index that is not there ends the list":     {[]string{"2", "0", "5"}, []Device{two}, "no device 0"},
		"a UUID that is not there ends the list":       {[]string{"GPU-ffff"}, nil, "no device GPU-ffff"},
		"one device under two prefixes empties a list": {[]string{"GPU-0a1b", uuidB}, nil, "already holds"},
		"a MIG slice is kept without an index":         {[]string{migA}, []Device{{Index: -1, UUID: migA}}, "does not log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := Resolve(tc.entries, all)
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
