//go:build !linux

package smi

import "syscall"

// attributes put a child into a group of its own.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
