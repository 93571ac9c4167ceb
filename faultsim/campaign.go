package faultsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
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
	turn     time.Duration // of real time, as long as a failure waits to be reported
	began    time.Time
	said     time.Time
	trials   int    // done
	ended    string // why, once it is over; empty: it is not

	found    []string        // invariants that are reported as broken, in the order of their trials
	smallest map[string]bool // schedules that are reported, in their text form
	tried    map[string]int  // by invariant: trials that broke it and came to nothing new
	doubted  map[string]bool // invariants of which it is reported that state between trials breaks them
}

func newCampaign(progress io.Writer, every time.Duration) *campaign {
	return &campaign{
		progress: progress, every: every, turn: roundTime,
		smallest: map[string]bool{}, tried: map[string]int{}, doubted: map[string]bool{},
	}
}

const (
	progressEvery = 10 * time.Second
	roundTime     = time.Second
	deadlineSpare = 10 * time.Second // before the end that go test sets, for what is under way
	mostTried     = 20               // trials of one invariant that may come to nothing new
)

// run is the search of a campaign: rounds of trials until its time is over, or it
// is told to stop.
func (c *check) run() {
	c.t.Helper()
	g := c.campaign
	if err := c.prepare(); err != nil {
		c.t.Fatalf("%v", err)
	}
	told, leave := interrupts.join()
	defer leave()
	ctx, cancel := c.timeLimit(told)
	defer cancel()
	g.began, g.said = time.Now(), time.Now()
	g.say(c, "a campaign of %v, seed %d", c.set.length, c.set.seed)
	last := c.set.length.trials
	if last == 0 {
		last = math.MaxInt
	}
	for from := 0; g.ended == ""; {
		from = c.round(ctx, from, last)
		switch {
		case ctx.Err() != nil:
			g.ended = context.Cause(ctx).Error()
		case from >= last:
			g.ended = "all trials are done"
		case time.Since(g.said) >= g.every:
			g.report(c)
		}
	}
	c.set.trials = g.trials
	g.report(c)
}

// round plays trials for a while, reports those that fail in a way that is new, and
// returns the number of the next one. All before that one have been played, so what is
// first by number is first whatever the number of workers.
func (c *check) round(ctx context.Context, from, last int) (next int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, c.campaign.turn)
	defer cancel()
	p := c.newPool(from, last)
	p.stop, p.known = ctx.Done(), c.campaign.wanted()
	c.play(p)
	c.campaign.trials += int(p.done.Load())
	c.book.Trials = c.campaign.trials
	c.sum(p)
	for _, f := range p.known.inOrder() {
		c.breaks(f)
	}
	if p.first != nil {
		c.failed(c.failure(int(p.failed.Load()), p.first)) // ends the test
	}
	return min(last, int(p.next.Load()))
}

// breaks reports a failing trial of a campaign by the first of the invariants that it
// breaks which is not known to be broken, and by the next one where that comes to
// nothing new.
func (c *check) breaks(f failing) {
	c.t.Helper()
	for _, name := range f.names {
		if !c.campaign.wants(name) {
			continue
		}
		f.r.lead(name)
		c.set.trials = f.n + 1 // which find it again
		c.failed(c.failure(f.n, f.r))
		c.publish()
	}
}

// tells says on its line what has become of a failing trial that is reported.
func (g *campaign) tells(c *check, f *failure, name string) {
	if g == nil {
		return
	}
	where := "no case of it is saved"
	if last := c.book.Failures[len(c.book.Failures)-1]; last.saved {
		where = "saved as " + last.File
	}
	g.say(c, "trial %d breaks %s; %s", f.n+1, name, where)
}

// wants reports whether a trial that breaks the invariant may be news.
func (g *campaign) wants(name string) bool {
	return !g.knows(name) && g.tried[name] < mostTried
}

// wanted is an empty list of failing trials that leaves out what would be no news.
func (g *campaign) wanted() failures {
	list := failures{}
	for _, name := range g.found {
		list[name] = nil
	}
	for name, n := range g.tried {
		if n >= mostTried {
			list[name] = nil
		}
	}
	return list
}

// knows reports whether the invariant has been reported as broken. What is no campaign
// knows of nothing.
func (g *campaign) knows(name string) bool { return g != nil && slices.Contains(g.found, name) }

// reported notes a failure that is told, by its smallest schedule.
func (g *campaign) reported(name string, s *Schedule) {
	if g != nil && !g.knows(name) {
		g.found = append(g.found, name)
		g.smallest[s.String()] = true
	}
}

// old reports whether the failure has been told before: by the invariant that its
// smallest schedule breaks, or as one of several that the schedule of another one
// breaks. It may hide a bug, so that some more trials of its invariant are looked at.
func (g *campaign) old(f *failure, drawn string) bool {
	if g == nil || f.rate == 0 || !g.knows(f.name) && !g.smallest[f.s.String()] {
		return false
	}
	g.tried[drawn]++
	return true
}

// doubts reports whether it was told before that something else than a trial breaks the
// invariant, and notes it. A bug in the code may break the same one.
func (g *campaign) doubts(name string) bool {
	if g == nil {
		return false
	}
	g.tried[name]++
	before := g.doubted[name]
	g.doubted[name] = true
	return before
}

// report says how far the campaign is, and how it ended.
func (g *campaign) report(c *check) {
	c.t.Helper()
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
	errTimeIsOver = errors.New("its time is over")
	errTestEnds   = errors.New("go test's own -timeout is near, give a longer one, or 0 for none")
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

// begin makes the run a campaign where one is asked for. What is left of a test
// binary that has been interrupted is skipped.
func (c *check) begin() {
	c.t.Helper()
	switch {
	case c.set.merge != "":
		c.gather()
	case c.set.length == (length{}):
	case interrupts.told():
		c.t.Skipf("the run was interrupted before this campaign began: %s", rerun.Command(c.name))
	default:
		c.campaign = newCampaign(os.Stderr, progressEvery)
	}
}
