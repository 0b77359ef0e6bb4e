package memory

import (
	"fmt"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// spare is what of a device's memory may belong to nobody without raising a doubt: an H200
// counted 9 MiB more than it listed for its only process.
const spare = 16 * unit.MiB

// doubtGrowth marks a peak of which much is explained by nobody, or by too many.
func (l *Ledger) doubtGrowth(in LedgerInput, held holders) {
	label := labelOf(l.Index, l.UUID)
	if held.stranger && unclaimed(l.Growth, in.Torch) {
		l.note(Doubtful, strangers(label, l.Growth))
	}
	v := l.Unexplained
	if !v.Known() || !l.Used.Known() {
		return
	}
	onePercent := l.Used.Number / 100
	switch {
	case v.Number > max(onePercent, float64(spare)):
		l.note(Doubtful, fmt.Sprintf("%s of the growth of %s belong to no listed process", inMiBText(v.Number), label))
	case v.Number < -onePercent:
		l.note(Doubtful, tooMuch(v.Number, label))
	case v.Number < 0:
		l.remark(tooMuch(v.Number, label))
	}
}

func tooMuch(unexplained float64, label string) string {
	return fmt.Sprintf("the terms of %s explain %s more than it held: they were read one after the other", label, inMiBText(-unexplained))
}

// strangers is the doubt of growth on a device that lists processes, and none that is
// known as the experiment's. It accuses nobody: their pids may be of another namespace.
func strangers(label string, growth metric.Value) string {
	return fmt.Sprintf("%s grew by %s, and none of the processes that the driver lists on it is known as the experiment's: "+
		"the memory is another's, or their pids are of another namespace", label, inMiBText(growth.Number))
}

// unclaimed reports whether torch in the experiment's own processes leaves more of a growth
// open than what a process holds beside torch: then nothing says that it is theirs.
func unclaimed(growth metric.Value, torch []TorchUse) bool {
	if !growth.Known() {
		return false
	}
	rest := growth.Number
	for _, u := range torch {
		if u.Reserved.Known() && u.Reserved.Number > 0 {
			rest -= u.Reserved.Number + float64(InUse)
		}
	}
	return rest > float64(spare)
}

// remarkDriver says that a baseline holds what the driver keeps for itself, which NVML's
// first memory call counts as used.
func (l *Ledger) remarkDriver(w device.Watched) {
	label := labelOf(l.Index, l.UUID)
	switch {
	case w.Source != device.FromNVMLv1 || !l.Baseline.Known():
	case w.Reserved.Known():
		l.remark(fmt.Sprintf("%s of the baseline of %s are reserved by the driver, which %s counts as used",
			inMiBText(w.Reserved.Number), label, w.Source))
	default:
		l.remark(fmt.Sprintf("the baseline of %s includes what the driver reserves, which %s counts as used without saying how much it is", label, w.Source))
	}
}
