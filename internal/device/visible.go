package device

import (
	"fmt"
	"strconv"
	"strings"
)

// Visible is the value of CUDA_VISIBLE_DEVICES as CUDA reads it.
type Visible struct {
	All      bool     // the variable is not set, so every device is visible
	Entries  []string // what is left of the list, each spelled as it was given
	Problems []string // what was left out of the list and why, for people
}

// ParseVisible reads the value of CUDA_VISIBLE_DEVICES; set says whether the variable
// is there at all, since an empty text means no device and no variable means all.
//
// CUDA ignores blanks around entries, ends the list at the first entry that names
// nothing (-1, a word), takes a list that names one device twice for empty, and does
// not mix indices and UUIDs: the first entry decides which of them the list holds.
func ParseVisible(text string, set bool) Visible {
	v := Visible{All: !set}
	if !set || strings.TrimSpace(text) == "" {
		return v
	}
	parts := strings.Split(text, ",")
	kind := entryKind(strings.TrimSpace(parts[0]))
	seen := map[string]bool{}
	for i, part := range parts {
		entry := strings.TrimSpace(part)
		if entryKind(entry) != kind || kind == "" {
			v.Problems = append(v.Problems, fmt.Sprintf(
				"CUDA ends the list at %q, entry %d of %q", entry, i+1, text))
			return v
		}
		if key := entryKey(entry); seen[key] {
			return Visible{Problems: []string{fmt.Sprintf(
				"%q names %s twice, so CUDA sees no device at all", text, entry)}}
		} else {
			seen[key] = true
		}
		v.Entries = append(v.Entries, entry)
	}
	return v
}

// Join returns the first n entries as one value for CUDA_VISIBLE_DEVICES.
func (v Visible) Join(n int) string {
	return strings.Join(v.Entries[:min(n, len(v.Entries))], ",")
}

// entryKind returns "index", "GPU-" or "MIG-", or nothing for an entry that can name
// no device.
func entryKind(entry string) string {
	for _, prefix := range []string{"GPU-", "MIG-"} {
		if len(entry) > len(prefix) && strings.HasPrefix(entry, prefix) {
			return prefix
		}
	}
	if _, ok := EntryIndex(entry); ok {
		return "index"
	}
	return ""
}

// entryKey returns what two spellings of the same entry have in common.
func entryKey(entry string) string {
	if index, ok := EntryIndex(entry); ok {
		return strconv.Itoa(index)
	}
	return entry
}

// EntryIndex returns the index that an entry begins with. CUDA reads it as C's strtoul
// does, so what follows the digits is passed over.
func EntryIndex(entry string) (index int, ok bool) {
	digits := strings.TrimPrefix(entry, "+")
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	index, err := strconv.Atoi(digits[:end])
	return index, err == nil
}
