package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"tunebench/internal/device/smi"
	"tunebench/internal/runner"
)

// nvmlVariable is the environment variable that names libnvidia-ml.so.1 where the loader
// does not find it.
const nvmlVariable = "TUNEBENCH_NVML"

// prepareRun returns a context that the first interrupt cancels, and options whose Hurry
// the second one ends. Call stop when the run is over.
func prepareRun(parent context.Context, s System, asJSON bool, found *smi.SMI) (context.Context, runner.Options, func()) {
	ctx, cancel := context.WithCancel(parent)
	hurry, hurryUp := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	surviveBrokenPipes()
	over := make(chan struct{})
	go func() {
		for _, act := range []func(){cancel, hurryUp} {
			select {
			case <-signals:
				act()
			case <-over:
				return
			}
		}
	}()
	options := runner.Options{
		Version: version(), Environ: s.Environ, SMI: found, NVML: s.Getenv(nvmlVariable), Listener: listener(s, asJSON), Hurry: hurry,
	}
	if path, err := self(); err == nil {
		options.Self = path
	}
	return ctx, options, func() {
		signal.Stop(signals)
		close(over)
		cancel()
		hurryUp()
	}
}

// surviveBrokenPipes keeps tunebench alive where the reader of its output goes away: the
// matrix matters more. The signal is caught and not ignored, since trainers would
// inherit that.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// signalled is the cause of a context that a signal cancelled.
type signalled struct{ by syscall.Signal }

func (s signalled) Error() string { return s.by.String() }

// untilStarted returns a context that any signal to end cancels until started is called.
// From then on the terminal's own signals, which reach the command as well, are left to
// the command, which decides: tunebench must live to report. Call stop at the end.
func untilStarted(parent context.Context) (ctx context.Context, started, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	running, over := make(chan struct{}), make(chan struct{})
	go func() {
		begun := running
		for {
			select {
			case got := <-signals:
				by := got.(syscall.Signal) // all of Unix's are
				if begun != nil || by == syscall.SIGTERM || by == syscall.SIGHUP {
					cancel(signalled{by})
				}
			case <-begun:
				begun = nil
				select { // one that came before the start was not the command's
				case got := <-signals:
					cancel(signalled{got.(syscall.Signal)})
				default:
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() { close(running) }), func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}
