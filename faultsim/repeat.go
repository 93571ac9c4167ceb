package faultsim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

const (
	fewReruns  = 3   // of a schedule on the way to the smallest
	reruns     = 20  // of a failing schedule, to see whether it may always fail
	moreReruns = 100 // to see whether it does, or how often, unless another number is asked for
	behind     = 50  // trials behind the failing one that are played for what else they break

	comparedEvents = 20_000 // of all runs of one schedule, beyond which 20 runs are enough
)

// A repetition is what came of running one schedule again and again.
type repetition struct {
	runs, failed int
	differs      *trace.Difference // the earliest to the first run that is no tie; nil: there is none
	tie          *trace.Difference // the earliest that is not for the code to decide: see tied; nil: there is none
}

func (r *repetition) steady() bool { return r.failed == r.runs && r.differs == nil }

// compared runs a schedule that breaks the invariant again, and compares the runs.
func (c *check) compared(s *Schedule, name string) (r repetition) {
	var first, old *trace.Trace
	for enough := c.moreReruns(); r.runs < enough; {
		r.runs++
		now, broken := c.breaksIn(s, name, old)
		if now == nil {
			continue
		}
		if broken {
			r.failed++
		}
		if first == nil {
			first = now
			continue
		}
		old = now
		r.note(c.differ(s, first, now), s, first, now)
		if r.steady() {
			enough = c.rerunsOf(first)
		} else {
			enough = c.moreReruns()
		}
	}
	return r
}

// moreReruns is how often a schedule is run again at most.
func (c *check) moreReruns() int { return cmp.Or(c.set.reruns, moreReruns) }

// rerunsOf is how often a schedule is run again that gives the same trace each time:
// where the trace is long less often, so that this takes no longer than the rest,
// unless a number is asked for.
func (c *check) rerunsOf(t *trace.Trace) int {
	if c.set.reruns > 0 {
		return c.set.reruns
	}
	return max(reruns, min(moreReruns, comparedEvents/max(1, len(t.Events))))
}

// settle compares the runs of the failure's schedule, unless that was done as it was
// found to be the smallest.
func (c *check) settle(f *failure) {
	if f.runs.runs == 0 {
		f.runs = c.compared(&f.s, f.name)
	}
	switch {
	case f.rate == 1:
		f.rate = float64(f.runs.failed) / float64(f.runs.runs)
	case f.runs.steady(): // by chance: it has not failed each time before
		f.runs.runs, f.runs.failed = f.runs.runs+f.before.runs, f.runs.failed+f.before.failed
	}
}

// note keeps a difference between the first run and another one, if it is the
// earliest of its kind.
func (r *repetition) note(d *trace.Difference, s *Schedule, first, now *trace.Trace) {
	if d == nil {
		return
	}
	kept := &r.differs
	if excused(d, s, first, now) {
		kept = &r.tie
	}
	if *kept == nil || d.N < (*kept).N {
		*kept = d
	}
}

// tell says in one line whether the runs were alike.
func (c *check) tell(r *repetition) string {
	var text string
	switch {
	case r.steady() && r.tie != nil:
		return fmt.Sprintf("deterministic: %d runs failed, and differ only where the schedule puts two things at one instant: %s", r.runs, r.tie)
	case r.steady() && c.a.Unseeded:
		return fmt.Sprintf("deterministic: %d runs gave the same trace, apart from its times", r.runs)
	case r.steady():
		return fmt.Sprintf("deterministic: %d runs gave the same trace", r.runs)
	case r.differs == nil && c.a.Unseeded:
		text = "its traces are the same apart from their times, and their judgement is not"
	case r.differs == nil:
		text = "its traces are the same, and their judgement is not"
	default:
		text = r.differs.String()
	}
	text = fmt.Sprintf("not deterministic: %s; fails in %d of %d runs", text, r.failed, r.runs)
	if c.crowded {
		text += " (random numbers are not seeded where tests run in parallel)"
	}
	return text
}

// differ compares two traces of one schedule. Where the code's jitter is left to
// chance, so are its times, and what the clock decides behind the first wait.
func (c *check) differ(s *Schedule, a, b *trace.Trace) *trace.Difference {
	if !c.a.Unseeded && !(c.set.twice && c.crowded) {
		return trace.Diff(a, b)
	}
	if c.clocked(s) {
		a, b = untilFailure(a), untilFailure(b)
	}
	return trace.Comparison{Untimed: true}.Diff(a, b)
}

// clocked reports whether what happens may depend on when: by the schedule, or by
// a limit of the code's.
func (c *check) clocked(s *Schedule) bool {
	if len(s.Actions) > 1 || len(s.Outages)+len(s.Quotas)+len(s.Buckets)+len(s.Expiries) > 0 || s.Calm > 0 || c.a.Policy.Budget > 0 || c.beside != nil || c.a.served != nil {
		return true
	}
	for _, p := range s.Actions {
		if p.Deadline > 0 || p.Cancel > 0 || p.deaths() > 0 || p.drains() > 0 {
			return true
		}
		for _, list := range p.Faults {
			if slices.ContainsFunc(list, func(f Fault) bool { return f.Cancel > 0 || f.Work > f.Latency }) {
				return true
			}
		}
	}
	return false
}

// untilFailure is the trace up to the first failure: all that follows may wait, and
// begin at another time for it. Of what else happens at its instant the failures of
// other actions are the end as well.
func untilFailure(t *trace.Trace) *trace.Trace {
	cut := &trace.Trace{}
	over := map[string]bool{}
	for _, e := range t.Events {
		if len(over) > 0 && e.At > cut.Events[len(cut.Events)-1].At {
			break
		}
		if over[e.Action] {
			continue
		}
		cut.Events = append(cut.Events, e)
		if e.Kind == trace.KindAnswer && e.Outcome.Failed() {
			over[e.Action] = true
		}
	}
	return cut
}

// reseed looks for a seed of the random numbers with which a schedule that does not
// always break the invariant does, and says how many of the seeds break it. Where one
// seed breaks it now and then, something else decides, and there is no such seed.
// Trials beside each other are not seeded, so that what one of them drew is not known.
func (c *check) reseed(s Schedule, name string) (seeded Schedule, broken int, ok bool) {
	if c.a.Unseeded || c.crowded {
		return s, 0, false
	}
	for seed := range c.moreReruns() {
		s.Seed = uint64(seed + 1)
		_, breaks := c.breaksIn(&s, name, nil)
		if _, again := c.breaksIn(&s, name, nil); again != breaks {
			return s, 0, false
		}
		if !breaks {
			continue
		}
		if broken++; !ok {
			seeded, ok = s, true
		}
	}
	return seeded, broken, ok && c.always(&seeded, name, c.moreReruns())
}

// others names the invariants that trials behind the failing one break, and that
// its own findings do not name: those of a fixed number of trials, so that it does
// not depend on how far other workers were.
func (c *check) others(f *failure) string {
	var names []string
	for n := f.n + 1; n < min(f.n+1+behind, c.set.trials); n++ {
		s := c.draw(n)
		r := c.trial(&s)
		if r.err != nil {
			break
		}
		for i := range r.found {
			if name := r.found[i].Invariant; !f.r.breaks(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("\nother trials also break: %s", strings.Join(names, ", "))
}

// twice compares the runs of a trial that has passed: the second is what counts
// where it does not pass. In a test that runs in parallel with others its random numbers
// are not seeded, so that its jitter is left to chance as where Unseeded says so.
func (c *check) twice(s *Schedule, first, second result, crowded bool) result {
	if !second.passes() {
		return second
	}
	c.crowded = crowded
	if d := c.differ(s, first.tr, second.tr); d != nil && !excused(d, s, first.tr, second.tr) {
		second.other = d
	}
	return second
}

// excused reports whether a difference between two traces of the schedule falls on a
// tie of either.
func excused(d *trace.Difference, s *Schedule, a, b *trace.Trace) bool {
	return tied(s, a, d.A) || tied(s, b, d.B)
}

// tied reports whether the event falls on one instant with something that is not for
// the code under test to put in order: the cancel, the end of the time or the death of
// its action, by the schedule; another attempt's work; or another action's call of a
// tool that grants calls by their number or serves them one by one.
func tied(s *Schedule, t *trace.Trace, i int) bool {
	if i < 0 {
		return false
	}
	at := &t.Events[i]
	return slices.ContainsFunc(t.Events, func(e trace.Event) bool {
		planned := e.Kind == trace.KindCancel || e.Kind == trace.KindCrash || e.Kind == trace.KindDrain
		switch {
		case e.Action == at.Action && e.Deadline > 0 && e.Deadline == at.At:
			return true
		case at.Kind == trace.KindEffect && e.Kind == trace.KindCall && e.Tool == at.Tool && e.Call != at.Call && s.worksIn(at.At-e.At):
			return true // of two works of one key at one instant either may be the one that counts
		case e.At != at.At:
			return false
		case e.Kind == trace.KindEffect && at.Kind == trace.KindEffect:
			return e.Tool == at.Tool && e.Call != at.Call
		case e.Action == at.Action:
			return planned
		}
		return e.Kind == trace.KindCall && s.counts(e.Tool)
	})
}

// worksIn reports whether the work of an attempt may be done so long after its begin.
func (s *Schedule) worksIn(d time.Duration) bool {
	for _, p := range s.Actions {
		for _, list := range p.Faults {
			if slices.ContainsFunc(list, func(f Fault) bool { return f.Work == d }) {
				return true
			}
		}
	}
	return d == 0
}

// counts reports whether the tool answers a call by how many there were, or are.
func (s *Schedule) counts(tool string) bool {
	meant := func(name string) bool { return name == tool || name == Main }
	return slices.ContainsFunc(s.Quotas, func(q Quota) bool { return meant(q.Tool) }) ||
		slices.ContainsFunc(s.Buckets, func(b Bucket) bool { return meant(b.Tool) }) ||
		slices.ContainsFunc(s.Serial, meant)
}

// unsteady reports a trial that passes, and is another one each time.
func (c *check) unsteady(f *failure, origin string) {
	c.t.Helper()
	var first *trace.Trace
	differs, earliest := 0, f.r.other
	for range c.moreReruns() {
		now := c.trial(&f.s)
		switch {
		case now.err != nil:
			continue
		case first == nil:
			first = now.tr
		}
		if d := c.differ(&f.s, first, now.tr); d != nil {
			if differs++; d.N < earliest.N {
				earliest = d
			}
		}
	}
	parallel := ""
	if c.crowded {
		parallel = ", and their random numbers were not seeded, since tests run in parallel"
	}
	c.t.Fatalf("not-deterministic: %s: one schedule gave two traces: %s\n"+
		"    advice: look for a select of which several cases are ready, the order of a map, a clock that is read into a package variable, goroutines that race, or math/rand/v2: hand the source in (Stage.Jitter), or set the adapter's Unseeded where it is jitter\n"+
		"\n%s\n%s\n%s\nof %d further runs, %d differ from the first%s\nrun it again: %s -rehearse.twice",
		c.a.Name, earliest, strings.TrimRight(f.r.tr.Timeline(), "\n"), indent("schedule", f.s.String()), origin, c.moreReruns(), differs, parallel, c.rerun(true))
}
