package faultsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// A Fleet is many agents of one kind against one service, all in one bubble of
// virtual time: what each of them does right may be too much for what they share.
// [Play] plays it and returns the [Load] that comes of it, for a test to hold to
// its bounds:
//
//	load := faultsim.Play(t, faultsim.Fleet{
//		Adapter: adapter,
//		Agents:  1000,
//		Arrive:  faultsim.Evenly(10 * time.Second),
//		Service: faultsim.Service{
//			Workers: 20, Serve: 50 * time.Millisecond, Queue: 100,
//			Outages: []faultsim.Outage{{From: 2 * time.Second, To: 4 * time.Second, Class: trace.Transient}},
//		},
//	})
//	require.Less(t, load.Amplification(), 1.5)
//	require.Less(t, load.Synchrony(10*time.Millisecond), 2.0)
//
// Any adapter will do whose code calls tools. The same fleet gives the same load
// each time, where the code draws its random numbers from [Stage.Jitter]; those
// of each agent are its own.
type Fleet struct {
	Adapter Adapter

	// Agents is how many there are, at least one.
	Agents int

	// Shared says that the agents are actions of one process, which Subject builds
	// once: they share its breaker, its budget and its client. False: each of them is
	// a process of its own, for which Subject is called with a stage of its own, and
	// whose trace is judged by itself. What the stage itself keeps, such as the
	// [Disk], they have in common.
	Shared bool

	// Actions is how many actions each agent does, one after another, and Pause the
	// time between them. 0: one, and no time.
	Actions int
	Pause   time.Duration

	// Arrive says when the agents begin. Nil: all at once, a few nanoseconds apart,
	// so that their order is data.
	Arrive Arrivals

	// Plan is of every action: its deadline, its cancel, and the faults of its
	// attempts, which come on top of what the service does. The zero Plan has none.
	Plan Plan

	// Service is what stands behind one of the tools. The zero Service answers at
	// once.
	Service Service

	// Seed is that of the arrivals, of the service times and of [Stage.Jitter]. 0 is
	// a seed like any other.
	Seed uint64
}

// Arrivals says when so many agents begin, from the begin of the trial, in order.
// r is seeded by the fleet.
type Arrivals func(agents int, r *rand.Rand) []time.Duration

// Evenly is agents that begin one after another, spread evenly over a time.
func Evenly(over time.Duration) Arrivals {
	return func(agents int, _ *rand.Rand) []time.Duration {
		at := make([]time.Duration, agents)
		for i := range at {
			at[i] = time.Duration(float64(over) * float64(i) / float64(agents))
		}
		return at
	}
}

// Independently is agents that begin independently of each other, one in each gap
// on average: a Poisson process.
func Independently(gap time.Duration) Arrivals {
	return func(agents int, r *rand.Rand) []time.Duration {
		at, now := make([]time.Duration, agents), 0.0
		for i := range at {
			at[i] = time.Duration(now)
			now += r.ExpFloat64() * float64(gap)
		}
		return at
	}
}

// mostAgents bounds the actions of a fleet, each of which takes some kilobytes.
const mostAgents = 100_000

// actions is how many each agent does.
func (f *Fleet) actions() int { return max(f.Actions, 1) }

// sharing is how many actions share a process, as far as it matters: an allowance may
// be greater than that of a trial of Check.
func (f *Fleet) sharing() int {
	if f.Shared {
		return max(sharingActions, f.Agents*f.actions())
	}
	return max(sharingActions, f.actions())
}

// validate reports what makes the fleet unplayable, apart from its adapter.
func (f *Fleet) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("fleet: "+format, args...))
		}
	}
	want(f.Agents >= 1, "Agents is %d: say how many there are", f.Agents)
	want(f.Actions >= 0, "Actions is %d: say how many each agent does, or 0 for one", f.Actions)
	want(max(f.Agents, 0) <= mostAgents && max(f.Actions, 0) <= mostAgents && f.Agents*f.actions() <= mostAgents,
		"%d agents with %d actions each are more than %d actions: take fewer", f.Agents, f.actions(), mostAgents)
	want(f.Pause >= 0 && f.Pause <= longestTime, "Pause is %v: it counts forward, up to a year (%v)", f.Pause, longestTime)
	want(f.Pause == 0 || f.Actions > 1, "Pause is %v, and each agent does one action, so that nothing comes of it: set Actions", f.Pause)
	want(f.Plan.After == 0, "Plan.After is %v: say when agents begin with Arrive, and the time between actions with Pause", f.Plan.After)
	want(!f.Plan.Again, "Plan.Again is set: an operator's retry is for a schedule of one process")
	want(f.Plan.deaths() == 0, "Plan has a crash or a drain: play those in a schedule of one process")
	want(f.Adapter.served == nil && f.Adapter.Repeats == nil, "%q is a tool under test, which is called: a fleet plays its callers", f.Adapter.Name)
	errs = append(errs, f.Service.validate())
	return errors.Join(errs...)
}

// arrive asks Arrive, whose panic is the fleet's own mistake.
func (f *Fleet) arrive() (at []time.Duration, err error) {
	if f.Arrive == nil {
		return make([]time.Duration, f.Agents), nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fleet: Arrive panicked: %v at %s: it must return an instant for each of %d agents", p, panicSite(), f.Agents)
		}
	}()
	return f.Arrive(f.Agents, rand.New(rand.NewPCG(f.Seed, 1))), nil
}

// arrivals are the instants at which the agents begin, kept apart.
func (f *Fleet) arrivals() ([]time.Duration, error) {
	at, err := f.arrive()
	if err != nil {
		return nil, err
	}
	if len(at) != f.Agents {
		return nil, fmt.Errorf("fleet: Arrive returned %d instants for %d agents: return one for each", len(at), f.Agents)
	}
	at = append([]time.Duration(nil), at...)
	for i := range at {
		switch {
		case at[i] < 0 || at[i] > longestTime:
			return nil, fmt.Errorf("fleet: Arrive lets agent %d begin at %v: it counts forward, up to a year (%v)", i+1, at[i], longestTime)
		case i > 0 && at[i] < at[i-1]-apart*time.Duration(i):
			return nil, fmt.Errorf("fleet: Arrive lets agent %d begin before agent %d: return the instants in order", i+1, i)
		case i > 0:
			at[i] = max(at[i], at[i-1]+apart)
		}
	}
	return at, nil
}

// Play plays the fleet in virtual time, judges what its agents did by all that
// their policy implies, and reports through t how many of them broke it, with the
// load and the trace of the first, of which a long one is cut down to what is marked and
// the lines around it. It returns the load for further checks, and ends the test
// where there is none.
//
// It must be called outside a synctest bubble.
func Play(t *testing.T, f Fleet) *Load {
	t.Helper()
	load, err := Simulate(t, f)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(load.Broken) > 0 {
		t.Errorf("%s", load.report())
	}
	return load
}

// Simulate is [Play] that reports nothing through t: what was broken is in the
// load.
func Simulate(t *testing.T, f Fleet) (*Load, error) {
	if err := errors.Join(f.validate(), f.Adapter.validateFor(f.sharing())); err != nil {
		return nil, err
	}
	at, err := f.arrivals()
	if err != nil {
		return nil, err
	}
	c := newCrowd(&f, at)
	tr, err := watched(t, c.x)
	if err != nil {
		return nil, err
	}
	return c.load(tr), nil
}

// report says who broke the policy.
func (l *Load) report() string {
	b := &l.Broken[0]
	who := fmt.Sprintf("agent %d", b.Agent)
	if len(l.Broken) > 1 {
		who = fmt.Sprintf("%d of %d agents broke a rule; agent %d is the first", len(l.Broken), l.Agents, b.Agent)
	} else if b.Agent == 0 {
		who = "the agents together"
	}
	found, events, _ := strings.Cut(strings.TrimRight(invariants.Report(b.Trace, b.Findings), "\n"), "\n\ntrace")
	return who + ":\n" + found + "\n" + indent("load", l.String()) + "\n\n" + shortened("trace"+events) + "\n"
}

// A trace of many agents is cut down to the lines that are marked and so many around
// them, where it has more than the most that somebody reads.
const (
	mostLines   = 200
	linesAround = 3
)

// shortened leaves out what is far from all that is marked in a report: thousands of
// agents have tens of thousands of events. Its first lines are kept.
func shortened(report string) string {
	lines := strings.Split(report, "\n")
	if len(lines) <= mostLines {
		return report
	}
	keep, shown := make([]bool, len(lines)), 0
	for i, line := range lines {
		if i >= mostLines/10 && !strings.HasPrefix(line, "> ") {
			continue
		}
		for j := max(0, i-linesAround); j <= min(i+linesAround, len(lines)-1) && shown < mostLines; j++ {
			if !keep[j] {
				keep[j], shown = true, shown+1
			}
		}
	}
	return withGaps(lines, keep)
}

// withGaps is the lines that are kept, with a line for each gap.
func withGaps(lines []string, keep []bool) string {
	var b strings.Builder
	out := 0
	for i, line := range append(lines, "") {
		if i < len(keep) && !keep[i] {
			out++
			continue
		}
		if out > 0 {
			fmt.Fprintf(&b, "  … %s left out\n", countOf(out, "line"))
			out = 0
		}
		if i < len(keep) {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
