package outcome

import "fmt"

// endingSignal names the signal that ended the process, or else the child that failed
// first; empty where neither was ended by one.
func endingSignal(e Evidence) string {
	if e.Ending.Signal != "" {
		return e.Ending.Signal
	}
	if e.Ending.ExitCode != nil {
		if name := signalName(*e.Ending.ExitCode); name != "" {
			return name
		}
	}
	if e.Logs.Child != nil {
		return signalName(e.Logs.Child.ExitCode)
	}
	return ""
}

// signalName reads the signal out of an exit code: 128+n as shells hand it on, -n as
// Python does, and 256-n, which becomes of Python's where it is exited with. The last
// few of those are left out: exit(-1) is an error of the program's own.
func signalName(code int) string {
	switch {
	case code < 0:
		return numbered(-code)
	case code > 128 && code <= 128+31:
		return numbered(code - 128)
	case code > 256-16 && code < 256-3:
		return numbered(256 - code)
	}
	return ""
}

// numbered gives the names of the signals of Linux that end processes in the field.
func numbered(n int) string {
	switch n {
	case 1:
		return "SIGHUP"
	case 2:
		return "SIGINT"
	case 3:
		return "SIGQUIT"
	case 4:
		return "SIGILL"
	case 6:
		return "SIGABRT"
	case 7:
		return "SIGBUS"
	case 8:
		return "SIGFPE"
	case 9:
		return "SIGKILL"
	case 11:
		return "SIGSEGV"
	case 13:
		return "SIGPIPE"
	case 15:
		return "SIGTERM"
	}
	return fmt.Sprintf("signal %d", n)
}

// signalText puts the number that launchers print beside the name.
func signalText(name string) string {
	if name == "SIGKILL" {
		return "SIGKILL (signal 9)"
	}
	return name
}
