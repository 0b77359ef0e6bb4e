package nvml

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tunebench/internal/device"
)

// Bounds of keeping.
const (
	restarts    = 2               // in one run: a driver that fails more often is left alone
	restartWait = 2 * time.Second // before a start that failed is tried again
	silence     = 5 * time.Second
	lastWords   = 3 * time.Second // for a child that hangs to say in which call
)

// Keeper keeps a Logger at work: where its child dies or hangs, another one goes on in the
// same logs. What they saw is told as one, with the gap between them.
type Keeper struct {
	config Config
	ctx    context.Context // until Stop; of starts
	cancel context.CancelFunc
	done   chan struct{} // closed when nobody looks after the child any more

	mu    sync.Mutex
	child *Logger          // nil: the last one ended and none could be started again
	ended []device.Summary // of the children before, in order
	notes []string
}

// Keep starts the first child as StartLogger does, and looks after it until Stop.
func Keep(ctx context.Context, c Config) (*Keeper, error) {
	child, err := StartLogger(ctx, c)
	if err != nil {
		return nil, err
	}
	k := &Keeper{config: c, child: child, done: make(chan struct{})}
	k.config.again = true
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go k.look()
	return k, nil
}

// look starts another child for one that failed, as often as it may.
func (k *Keeper) look() {
	defer close(k.done)
	for left := restarts; left > 0 && k.failed(k.child); {
		left = k.restart(left)
	}
}

// failed waits until the child has died or hangs. It reports false when it is to be stopped.
func (k *Keeper) failed(child *Logger) bool {
	if child == nil {
		return false
	}
	patience := k.config.Silence
	if patience <= 0 {
		patience = silence
	}
	patience += k.config.Interval + stateEvery // a child speaks no more often than that
	tick := time.NewTicker(min(stateEvery, patience))
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return false
		case <-child.Done():
			return true
		case <-tick.C:
			if child.silent() > patience {
				return true
			}
		}
	}
}

// restart ends the child, starts another one and returns how often that may be done again.
func (k *Keeper) restart(left int) int {
	seen := k.child.Stop(lastWords)
	if seen.Exit == "" { // it found its voice again when it was ended
		seen.Exit = "the sampler told of no new sample for long"
	}
	k.mu.Lock()
	k.ended, k.child = append(k.ended, seen), nil
	k.mu.Unlock()
	for ; left > 0; left-- {
		child, err := StartLogger(k.ctx, k.config)
		if k.ctx.Err() != nil && err != nil {
			return 0
		}
		k.mu.Lock()
		if k.child = child; err != nil {
			k.notes = append(k.notes, fmt.Sprintf("the sampler could not be started again: %v", err))
		}
		k.mu.Unlock()
		if err == nil {
			return left - 1
		}
		waitFor(k.ctx, restartWait)
	}
	return 0
}

func waitFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Latest returns what is known by now, of all children together.
func (k *Keeper) Latest() device.Summary {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.child == nil {
		return k.all(k.ended)
	}
	return k.all(append(k.ended[:len(k.ended):len(k.ended)], k.child.Latest()))
}

// Stop ends the child as Logger.Stop does, and returns what all of them saw. Exit says
// how the last one ended, where it was not by Stop.
func (k *Keeper) Stop(grace time.Duration) device.Summary {
	k.cancel()
	<-k.done
	k.mu.Lock()
	child := k.child
	k.mu.Unlock()
	if child != nil {
		child.Stop(grace)
	}
	return k.Latest()
}

// all makes one summary of several, of which there is at least one.
func (k *Keeper) all(parts []device.Summary) device.Summary {
	out := parts[0]
	for _, next := range parts[1:] {
		out = follow(out, next)
	}
	out.Notes = append(out.Notes[:len(out.Notes):len(out.Notes)], k.notes...)
	return out
}
