package cli

import (
	"context"
	"os"
	"os/signal"
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
