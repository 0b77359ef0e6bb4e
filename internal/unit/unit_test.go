package unit_test

import (
	"math"
	"testing"

	"tunebench/internal/unit"
)

func TestAnAmountIsReadInTheUnitThatItNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]unit.Bytes{
		"0": 0, "1048576": unit.MiB, "5GiB": 5 * unit.GiB, "1.5 GiB": 3 * unit.GiB / 2,
		"800MB": 800 * unit.MB, "2gib": 2 * unit.GiB, " 7 KiB ": 7 * unit.KiB, "12B": 12, "1TB": unit.TB,
	} {
		got, err := unit.ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoAmountIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "GiB", "five", "-1GiB", "nan", "inf", "1e300TiB", "5 GiB free"} {
		if got, err := unit.ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}

func TestAnAmountIsScaledOnceForTheEye(t *testing.T) {
	t.Parallel()
	for amount, want := range map[unit.Bytes]string{
		0: "0 B", 1023: "1023 B", unit.KiB: "1.00 KiB", 21875 * unit.MiB: "21.4 GiB",
		143771 * unit.MiB: "140 GiB", -3 * unit.MiB: "-3.00 MiB",
	} {
		if got := amount.String(); got != want {
			t.Errorf("(%d).String() = %q, want %q", int64(amount), got, want)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"5GiB", "1.5 MB", "", "-1", "9e99TiB", "0x10KiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := unit.ParseBytes(text)
		if err == nil && (got < 0 || got > math.MaxInt64/2) {
			t.Errorf("ParseBytes(%q) = %d, out of range", text, got)
		}
	})
}
