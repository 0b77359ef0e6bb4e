package smi

import "syscall"

// attributes put a child into a group of its own and have the kernel end it when
// tunebench itself is killed, so that no logger outlives it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
