package faultsim

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

const (
	shrinkRuns = 4900             // trials until the smallest is found, but for those that show that it always fails
	shrinkTime = 10 * time.Second // real time for it, on a machine that is slow; a schedule takes milliseconds
)

// failed handles a failing trial: it is run again alone, shrunk, saved and
// reported. A campaign reports nothing twice.
func (c *check) failed(f *failure) {
	c.t.Helper()
	c.book.fails(f)
	origin := f.origin
	if f.r.err != nil {
		c.unplayable(f.r.err, &f.s, origin, nil)
	}
	if f.r.other != nil {
		c.unsteady(f, origin)
	}
	drawn := f.r.found[0].Invariant
	c.minimise(f)
	defer func() { c.advice = "" }()
	if c.campaign.old(f, drawn) {
		c.book.forget()
		return
	}
	if headline := c.elsewhere(f); headline != "" {
		if c.campaign.doubts(drawn) {
			c.book.forget()
			return
		}
		c.stateful(f.s, f.r, origin, headline)
		c.campaign.tells(c, f, drawn)
		return
	}
	c.settle(f)
	c.campaign.reported(f.name, &f.s)
	c.report(f.r, &f.s, origin+"\n"+c.tell(&f.runs)+f.luck(c.moreReruns())+c.others(f), nil)
	c.campaign.tells(c, f, drawn)
}

// elsewhere says what shows that the failure does not come from its trial alone; empty:
// nothing does.
func (c *check) elsewhere(f *failure) string {
	if f.rate == 0 {
		if r := c.trial(&f.s); r.err != nil {
			return fmt.Sprintf("a trial broke %s among others, and cannot be played alone: %v", f.r.found[0].Invariant, r.err)
		}
		return fmt.Sprintf("a trial broke %s among others and passes alone", f.r.found[0].Invariant)
	}
	if n, broke := c.spoilt(f); broke != "" {
		return fmt.Sprintf("trial %d passed at first, and breaks %s every time now that others have run", n+1, broke)
	}
	return ""
}

// luck says how many of so many seeds break the rule, where not every one did.
func (f *failure) luck(seeds int) string {
	if f.lucky == 0 {
		return ""
	}
	return fmt.Sprintf("; of %d other seeds of its random numbers %d fail", seeds, f.lucky)
}

// minimise runs the failure again alone and, where it always fails, shrinks it. One
// run of each schedule is enough on the way, since the last is run often. Where that
// does not always fail, chance has a part: then nothing is believed before it has
// failed a hundred times, unless it has a seed that keeps chance out.
func (c *check) minimise(f *failure) {
	c.enough, c.stop = c.played+shrinkRuns, c.shrinkUntil()
	f.name, c.advice = f.r.found[0].Invariant, f.r.kind()
	if c.smallest(f, 1) {
		f.rate = 1
		return
	}
	again, rate := c.repeated(f)
	if f.rate = rate; rate == 0 {
		return
	}
	f.r, f.name, c.advice = again, again.found[0].Invariant, again.kind()
	f.r.lead(f.name)
	if rate == 1 {
		c.enough, c.stop = c.played+shrinkRuns, c.shrinkUntil()
		c.smallest(f, fewReruns)
	}
}

// shrinkUntil is the end of the time for shrinking, which leaves most of what go test
// gives for the report.
func (c *check) shrinkUntil() time.Time {
	most := shrinkTime
	if at, ok := c.t.Deadline(); ok {
		most = min(most, time.Until(at)/3)
	}
	return time.Now().Add(most)
}

// smallest shrinks the failure by steps that hold in so many runs, and reports whether
// it has found a schedule that always fails.
func (c *check) smallest(f *failure, runs int) bool {
	if !c.always(&f.s, f.name, runs) || !c.replace(f, c.shrink(f.s, f.name, runs), f.name) {
		return false
	}
	c.sharpen(f, runs)
	return true
}

// repeated runs the failure again: with the random numbers of its own schedule,
// with others where it does not always fail then, and else often enough to see how
// often it does.
func (c *check) repeated(f *failure) (again *result, rate float64) {
	name := f.r.found[0].Invariant
	var seen recurrence
	c.repeat(&seen, &f.s, name, reruns)
	if _, failed := seen.most(); failed < reruns {
		if seeded, broken, ok := c.reseed(f.s, name); ok {
			if again := c.breaking(&seeded, name); again != nil {
				f.s, f.lucky = seeded, broken
				return again, 1
			}
		}
	}
	c.repeat(&seen, &f.s, name, c.moreReruns()-reruns)
	again, failed := seen.most()
	f.before = repetition{runs: c.moreReruns(), failed: failed}
	return again, float64(failed) / float64(c.moreReruns())
}

// replace puts a smaller schedule in the failure's place, where it breaks the
// invariant in every run, and reports whether it does. What that takes is not counted
// among the runs, and the time, for making it smaller.
func (c *check) replace(f *failure, small Schedule, name string) bool {
	played, began := c.played, time.Now()
	runs := c.compared(&small, name)
	c.enough, c.stop = c.enough+c.played-played, c.stop.Add(time.Since(began))
	if runs.failed < runs.runs {
		return false
	}
	r := c.breaking(&small, name)
	if r == nil {
		return false
	}
	f.name, f.s, f.r, f.runs = name, small, r, runs
	return true
}

// breaking is a run of the schedule that breaks the invariant, for the report; nil:
// none of a few does.
func (c *check) breaking(s *Schedule, name string) *result {
	for range fewReruns {
		if r := c.shown(s); r.err == nil && r.breaks(name) {
			r.lead(name)
			return r
		}
	}
	return nil
}

// A recurrence is what of a failure came back: the runs that broke its rule, and those
// that broke others only, with the first of each.
type recurrence struct {
	again, other   *result
	failed, others int
}

// most is a run that broke the rule, or else any other that failed, and how many did the
// same.
func (n *recurrence) most() (*result, int) {
	if n.again == nil {
		return n.other, n.others
	}
	return n.again, n.failed
}

// repeat runs the schedule so often again, and adds what came of it.
func (c *check) repeat(seen *recurrence, s *Schedule, name string, runs int) {
	for i := range runs {
		run := c.trial
		if i == 0 {
			run = c.shown
		}
		r := run(s)
		switch {
		case r.err != nil || !r.broken():
		case !r.breaks(name):
			seen.others++
			seen.other = cmp.Or(seen.other, r)
		default:
			if seen.failed++; seen.again == nil {
				seen.again = r
				r.lead(name)
			}
		}
	}
}

// spoilt looks for state that has latched, such as a breaker that is open for
// good: then every trial fails alone as well, those that passed before included.
// It plays some of the trials before the failing one again, and returns the
// first that fails now and what it breaks; "": all pass. In a campaign that has
// found something before, such trials may have failed all along.
func (c *check) spoilt(f *failure) (n int, broke string) {
	if f.rate < 1 || c.campaign != nil && len(c.campaign.found) > 0 {
		return 0, ""
	}
	for i := range reruns {
		n := c.set.shard.first(0) + i*c.set.shard.step()
		if n >= f.n {
			break
		}
		s := c.draw(n)
		r := c.trial(&s)
		if r.err == nil && r.broken() && c.whateverItDraws(s, r.found[0].Invariant) {
			return n, r.found[0].Invariant
		}
	}
	return 0, ""
}

// whateverItDraws reports whether the schedule always breaks the invariant, whatever
// random numbers the code under test draws: when the trial passed it may have drawn
// others.
func (c *check) whateverItDraws(s Schedule, name string) bool {
	defer func(was string) { c.advice = was }(c.advice)
	c.advice = "" // of another failure
	for seed := range reruns {
		s.Seed = uint64(seed + 1)
		if !c.always(&s, name, 1) {
			return false
		}
	}
	return true
}

// stateful reports a failure that comes from more than its own trial. It is no
// case: in a process of its own its schedule passes.
func (c *check) stateful(s Schedule, r *result, origin, headline string) {
	c.t.Helper()
	text := "state-between-trials: " + headline + "\n" +
		"    advice: look for a package-level variable in the code under test (a breaker, a limiter, a client, a counter), or for a race: build everything in Subject\n"
	text += "\n" + strings.TrimRight(invariants.Report(r.tr, r.found), "\n")
	c.end("%s\n%s\n%s\nrun it again: %s", text, indent("schedule", s.String()), origin, c.rerun(true))
}

// lead puts the findings of the invariant first.
func (r *result) lead(name string) {
	var first, rest []invariants.Finding
	for _, f := range r.found {
		if f.Invariant == name {
			first = append(first, f)
		} else {
			rest = append(rest, f)
		}
	}
	r.found = append(first, rest...)
}

// shrink makes the schedule smaller, one step at a time, while so many runs of it
// break the same invariant. It works on the schedule and not on rapid's bits: rapid
// takes a seed from its global flags only, and to set them would give that seed to
// the user's own rapid properties that run at the same time.
//
// Behind a step that holds it goes on where it was: what did not hold before seldom
// does now. It ends with a round in which no step holds.
func (c *check) shrink(s Schedule, name string, runs int) Schedule {
	for from := 0; ; {
		smaller, n := c.step(&s, from, func(s *Schedule) (holds, over bool) {
			over = c.played >= c.enough || time.Now().After(c.stop)
			return !over && c.always(s, name, runs), over
		})
		switch {
		case n > 0:
			s, from = smaller, n-1
		case from > 0:
			from = 0
		default:
			return s
		}
	}
}

// step is the first step on from the given one that holds, and its number, from 1; 0:
// none does, or it is over.
func (c *check) step(s *Schedule, from int, try func(*Schedule) (holds, over bool)) (smaller Schedule, n int) {
	for change := range steps(*s, c.drawer) {
		if n++; n <= from {
			continue
		}
		if smaller = with(*s, change); c.drawer.served != nil && endless(&smaller) {
			continue
		}
		holds, over := try(&smaller)
		if over {
			break
		}
		if holds {
			return smaller, n
		}
	}
	return Schedule{}, 0
}

// unplayable ends the test with a trial that has no trace to judge: Subject
// failed, the clock stands still, or the stage was misused.
func (c *check) unplayable(err error, s *Schedule, origin string, saved *savedCase) {
	c.t.Helper()
	text := err.Error()
	if _, ok := errors.AsType[*FrozenError](err); !ok {
		c.t.Fatalf("%s\n%s\n%s\nrun it again: %s", text, indent("schedule", s.String()), origin, c.rerun(true))
	}
	c.fatal(text, c.caseOf(frozenClock, s, origin, saved), origin)
	c.t.FailNow() // a campaign ends with it too
}

// always reports whether the schedule breaks the invariant in each of n runs. A
// step can put two events at one instant, where chance decides.
func (c *check) always(s *Schedule, name string, n int) bool {
	for range n {
		tr, broken := c.breaksIn(s, name, c.spare)
		if c.spare = tr; !broken {
			return false
		}
	}
	return true
}

// end reports a failure. A property ends with its first one, and a campaign goes
// on.
func (c *check) end(format string, args ...any) {
	c.t.Helper()
	if c.campaign == nil {
		c.t.Fatalf(format, args...)
	}
	c.t.Errorf(format, args...)
}

// report saves the case, unless it comes from a file, and ends the test.
func (c *check) report(r *result, s *Schedule, origin string, saved *savedCase) {
	c.t.Helper()
	text := strings.TrimRight(invariants.Report(r.tr, r.found), "\n")
	c.fatal(text, c.caseOf(r.found[0].Invariant, s, origin, saved), origin)
}

// fatal ends the test, unless it is a campaign: what broke, the schedule and
// where it is kept, and the line that runs it again.
func (c *check) fatal(text string, k *savedCase, origin string) {
	c.t.Helper()
	headline, _, _ := strings.Cut(text, "\n")
	title, schedule, kept := "schedule, saved as "+k.path, k.schedule.String(), true
	if k.path == "" {
		file, err := k.save(c.name, headline)
		title = "schedule, saved as " + file
		if err != nil {
			kept = false
			title = fmt.Sprintf("case, which could not be saved (%v): write the lines below, without their indent, to %s", err, k.file(c.name))
			schedule = k.text(c.name, headline)
		}
	}
	c.book.saves(k, c.name, headline, kept)
	c.end("%s\n%s\n%s\nrun it again: %s\n%s", text, indent(title, schedule), origin, c.rerun(!kept), c.pasted(k))
}

// pasted is the schedule as a Go test, or how to get it.
func (c *check) pasted(k *savedCase) string {
	if !c.set.goTest {
		return "as a Go test to paste: the same with -rehearse.gotest"
	}
	return indent("as a Go test to paste, in which adapter() is that of "+c.name, k.schedule.GoTest(testName(k.invariant), "adapter()"))
}
