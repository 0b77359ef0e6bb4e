//go:build !linux

package host

import "errors"

// errNotLinux is what everything that reads /proc returns here.
var errNotLinux = errors.New("reading processes and their memory needs Linux")

// Tree needs Linux.
func Tree(int, TreeOptions) ([]Proc, error) { return nil, errNotLinux }

// FamilyPIDs needs Linux.
func FamilyPIDs(string) ([]int, error) { return nil, errNotLinux }

// CgroupOOMKills needs Linux.
func CgroupOOMKills() (int, error) { return 0, errNotLinux }

// Argv needs Linux.
func Argv(int) []string { return nil }

// StartTime needs Linux.
func StartTime(int) (uint64, bool) { return 0, false }
