package faultsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rehearse-go/rehearse/internal/rerun"
)

// A campaign is a long run of a property. It goes on past failures, and reports
// the first trial that fails by each invariant; two failures of one invariant are
// one bug as long as it is not mended. Its trials are numbered from 0 like those
// of any run, so seed and number play each of them again.
type campaign struct {
	progress io.Writer     // go test holds back what a test logs until it ends
	every    time.Duration // of real time, from one line of progress to the next
	began    time.Time
	said     time.Time
	found    []string // invariants that are broken, in the order of their trials
	trials   int      // done
	ended    string   // why, once it is over; empty: it is not
}

const (
	progressEvery = 10 * time.Second
	firstRound    = 256              // trials
	roundTime     = time.Second      // about as long as a failure waits to be reported
	deadlineSpare = 10 * time.Second // before the end that go test sets, for what is under way
)

// run is the search of a campaign: rounds of trials until its time is over, or it
// is told to stop. In a round nothing ends early, so what is first by number is
// first whatever the number of workers.
func (c *check) run() {
	c.t.Helper()
	g := c.campaign
	if err := c.prepare(); err != nil {
		c.t.Fatalf("%v", err)
	}
	ctx, cancel := c.timeLimit(interrupts())
	defer cancel()
	g.began, g.said = time.Now(), time.Now()
	g.say(c, "a campaign of %v, seed %d", c.set.length, c.set.seed)
	for from, size := 0, firstRound; g.ended == ""; {
		to := from + size*c.set.shard.step()
		if last := c.set.length.trials; last > 0 {
			to = min(to, last)
		}
		before := time.Now()
		c.round(from, to, ctx.Done())
		if took := time.Since(before); took < roundTime/2 {
			size *= 2
		}
		from = to
		switch {
		case ctx.Err() != nil:
			g.ended = context.Cause(ctx).Error()
		case to == c.set.length.trials:
			g.ended = "all trials are done"
		case time.Since(g.said) >= g.every:
			g.report(c)
		}
	}
	c.set.trials = g.trials
	g.report(c)
}

// round plays trials and reports those that fail in a way that is new.
func (c *check) round(from, to int, stop <-chan struct{}) {
	c.t.Helper()
	p := c.newPool(from, to)
	p.stop, p.known = stop, map[string]failing{}
	c.play(p)
	c.campaign.trials += int(p.done.Load())
	c.book.Trials = c.campaign.trials
	c.sum(p)
	for _, f := range inOrderOfTrials(p.known) {
		c.breaks(f)
	}
	if p.first != nil {
		c.failed(c.failure(int(p.failed.Load()), p.first)) // ends the test
	}
}

func inOrderOfTrials(known map[string]failing) []failing {
	var list []failing
	for _, f := range known {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b failing) int { return a.n - b.n })
	return list
}

// breaks reports a failing trial of a campaign, unless its invariant is known to
// be broken.
func (c *check) breaks(f failing) {
	c.t.Helper()
	g, name := c.campaign, f.r.found[0].Invariant
	if g.knows(name) {
		return
	}
	c.set.trials = f.n + 1 // which find it again
	c.failed(c.failure(f.n, f.r))
	c.publish()
	where := "no case of it is saved"
	switch last := c.book.Failures[len(c.book.Failures)-1]; {
	case last.known != "":
		where = "its smallest schedule breaks " + last.known + ", as one before"
	case last.saved:
		where = "saved as " + last.File
	}
	g.say(c, "trial %d breaks %s; %s", f.n+1, name, where)
}

// knows reports whether the invariant was known to be broken, and remembers it.
// What is no campaign knows of nothing.
func (g *campaign) knows(name string) bool {
	if g == nil || slices.Contains(g.found, name) {
		return g != nil
	}
	g.found = append(g.found, name)
	return false
}

// report says how far the campaign is, and how it ended.
func (g *campaign) report(c *check) {
	g.said = time.Now()
	took := g.said.Sub(g.began)
	text := fmt.Sprintf("%v, %d trials, %.0f a second", took.Round(time.Second), g.trials, float64(g.trials)/max(took.Seconds(), 1e-3))
	if c.set.shard.of > 1 {
		text += ", shard " + c.set.shard.String()
	}
	if len(g.found) > 0 {
		text += ", broken: " + strings.Join(g.found, ", ")
	}
	if g.ended == "" {
		g.say(c, "%s", text)
		return
	}
	c.book.Ended = g.ended
	g.say(c, "%s. The campaign ends: %s", text, g.ended)
	c.t.Logf("%s; the campaign ended: %s", text, g.ended)
}

func (g *campaign) say(c *check, format string, args ...any) {
	fmt.Fprintf(g.progress, "rehearse: %s: %s\n", c.name, fmt.Sprintf(format, args...))
}

// Why a campaign ends.
var (
	errInterrupted = errors.New("it was interrupted")
	errTimeIsOver  = errors.New("its time is over")
	errTestEnds    = errors.New("go test's own -timeout is near, give a longer one, or 0 for none")
)

// timeLimit ends the context with the campaign's time, and before go test ends the
// whole test binary.
func (c *check) timeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	cancels := []context.CancelFunc{}
	if d := c.set.length.time; d > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, d, errTimeIsOver)
		ctx, cancels = limited, append(cancels, cancel)
	}
	if at, ok := c.t.Deadline(); ok {
		spare := min(deadlineSpare, time.Until(at)/10)
		limited, cancel := context.WithDeadlineCause(ctx, at.Add(-spare), errTestEnds)
		ctx, cancels = limited, append(cancels, cancel)
	}
	return ctx, func() {
		for _, cancel := range slices.Backward(cancels) {
			cancel()
		}
	}
}

// interrupts is a context that ends when the process is told to stop, by a
// terminal or by a runner such as Bazel. Whoever tells it a second time kills it.
// It is made by the first campaign: a test binary without one ends as ever.
var interrupts = sync.OnceValue(func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel(errInterrupted)
	}()
	return ctx
})

// begin makes the run a campaign where one is asked for. What is left of a test
// binary that has been interrupted is skipped.
func (c *check) begin() {
	c.t.Helper()
	switch {
	case c.set.merge != "":
		c.gather()
	case c.set.length == (length{}):
	case interrupts().Err() != nil:
		c.t.Skipf("the run was interrupted before this campaign began: %s", rerun.Command(c.name))
	default:
		c.campaign = &campaign{progress: os.Stderr, every: progressEvery}
	}
}
