package faultsim

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var errInterrupted = errors.New("it was interrupted")

// interrupts are for all campaigns of the process.
var interrupts interruption

// An interruption ends the campaigns that are under way when the process is told to
// stop, by a terminal or by a runner such as Bazel. Whoever tells it a second time kills
// it, and where no campaign is under way so does the first time, as ever.
type interruption struct {
	mu       sync.Mutex
	underway int
	signals  chan os.Signal
	ctx      context.Context // ends with the first signal; nil: there was no campaign yet
}

// join returns a context that ends with the interrupt, for a campaign that is under way
// until it leaves.
func (i *interruption) join() (ctx context.Context, leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx == nil {
		i.listen()
	}
	if i.underway++; i.underway == 1 && i.ctx.Err() == nil {
		signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	}
	return i.ctx, i.leave
}

func (i *interruption) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.underway--; i.underway == 0 {
		signal.Stop(i.signals)
	}
}

// listen waits for the first signal, for as long as the process lives.
func (i *interruption) listen() {
	ctx, cancel := context.WithCancelCause(context.Background())
	i.ctx, i.signals = ctx, make(chan os.Signal, 1)
	go func() {
		<-i.signals
		signal.Stop(i.signals)
		cancel(errInterrupted)
	}()
}

// told reports whether the process has been told to stop.
func (i *interruption) told() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ctx != nil && i.ctx.Err() != nil
}
