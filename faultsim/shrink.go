package faultsim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

const (
	reruns     = 20               // of a failing schedule, to see whether it always fails
	shrinkRuns = 5000             // trials for shrinking
	shrinkTime = 10 * time.Second // real time for it, on a machine that is slow; a schedule takes milliseconds
)

// failed handles the first failing trial: it is run again alone, shrunk,
// saved and reported.
func (c *check) failed(f *failure) {
	c.t.Helper()
	origin := fmt.Sprintf("trial %d of %d, seed %d", f.n+1, c.set.trials, c.set.seed)
	if f.r.err != nil {
		c.unplayable(f.r.err, &f.s, origin, "")
	}
	c.minimise(f)
	switch {
	case f.rate == 0:
		c.stateful(f.s, f.r, origin, fmt.Sprintf("a trial broke %s among others and passes alone", f.r.found[0].Invariant))
	case f.rate < reruns:
		origin += rareness(f.rate)
	default:
		if n, broke := c.spoilt(f.n); broke != "" {
			c.stateful(f.s, f.r, origin, fmt.Sprintf("trial %d passed at first, and breaks %s every time now that others have run", n+1, broke))
		}
	}
	c.report(f.r, &f.s, origin, "")
}

// minimise runs the failure again alone and, where it always fails, shrinks it.
func (c *check) minimise(f *failure) {
	again, rate := c.repeat(&f.s, f.r.found[0].Invariant)
	if f.rate = rate; rate == 0 {
		return
	}
	f.r, f.name = again, again.found[0].Invariant
	if rate == reruns {
		c.replace(f, c.shrink(f.s, f.name), f.name)
		c.sharpen(f)
	}
	f.r.lead(f.name)
}

// replace puts a smaller schedule in the failure's place, where it breaks the
// invariant in every run.
func (c *check) replace(f *failure, small Schedule, name string) {
	if c.always(&small, name, reruns) {
		f.name, f.s, f.r = name, small, c.shown(&small)
	}
}

// rareness says how often a schedule fails that does not always fail.
func rareness(rate int) string {
	return fmt.Sprintf("; it fails in %d of %d runs: a race in the code under test decides", rate, reruns)
}

// repeat runs the schedule again, and returns one of the runs that break the
// invariant, or else any other, and how many break the same one.
func (c *check) repeat(s *Schedule, name string) (again *result, rate int) {
	var broken []*result
	for i := range reruns {
		run := c.trial
		if i == 0 {
			run = c.shown
		}
		if r := run(s); r.err == nil && r.broken() {
			broken = append(broken, r)
		}
	}
	for _, r := range broken {
		if !r.breaks(name) {
			continue
		}
		if rate++; again == nil {
			again = r
			again.lead(name)
		}
	}
	if again != nil || len(broken) == 0 {
		return again, rate
	}
	return broken[0], len(broken)
}

// spoilt looks for state that has latched, such as a breaker that is open for
// good: then every trial fails alone as well, those that passed before included.
// It plays some of the trials before the failing one again, and returns the
// first that fails now and what it breaks; "": all pass.
func (c *check) spoilt(failing int) (n int, broke string) {
	for n := range min(failing, reruns) {
		s := c.draw(n)
		r := c.trial(&s)
		if r.err == nil && r.broken() && c.always(&s, r.found[0].Invariant, reruns) {
			return n, r.found[0].Invariant
		}
	}
	return 0, ""
}

// stateful reports a failure that comes from more than its own trial. It is no
// case: in a process of its own its schedule passes.
func (c *check) stateful(s Schedule, r *result, origin, headline string) {
	c.t.Helper()
	text := "state-between-trials: " + headline + "\n" +
		"    advice: look for a package-level variable in the code under test (a breaker, a limiter, a client, a counter), or for a race: build everything in Subject\n"
	text += "\n" + strings.TrimRight(invariants.Report(r.tr, r.found), "\n")
	c.t.Fatalf("%s\n%s\n%s\nrun it again: %s", text, indent("schedule", s.String()), origin, c.rerun(true))
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

// shrink makes the schedule smaller, one step at a time, while it breaks the
// same invariant. It works on the schedule and not on rapid's bits: rapid takes
// a seed from its global flags only, and to set them would give that seed to
// the user's own rapid properties that run at the same time.
func (c *check) shrink(s Schedule, name string) Schedule {
	stop, last := time.Now().Add(shrinkTime), c.played+shrinkRuns
	for again := true; again; {
		again = false
		for smaller := range steps(s, c.drawer) {
			if c.played >= last || time.Now().After(stop) {
				return s
			}
			if c.drawer.served != nil && endless(&smaller) {
				continue
			}
			if c.always(&smaller, name, 3) {
				s, again = smaller, true
				break
			}
		}
	}
	return s
}

// unplayable ends the test with a trial that has no trace to judge: Subject
// failed, the clock stands still, or the stage was misused.
func (c *check) unplayable(err error, s *Schedule, origin, path string) {
	c.t.Helper()
	text := err.Error()
	if _, ok := errors.AsType[*FrozenError](err); !ok {
		c.t.Fatalf("%s\n%s\n%s\nrun it again: %s", text, indent("schedule", s.String()), origin, c.rerun(true))
	}
	k := savedCase{invariant: frozenClock, schedule: *s, path: path}
	c.fatal(text, &k, origin)
}

// always reports whether the schedule breaks the invariant in each of n runs. A
// step can put two events at one instant, where chance decides.
func (c *check) always(s *Schedule, name string, n int) bool {
	for range n {
		if r := c.trial(s); r.err != nil || !r.breaks(name) {
			return false
		}
	}
	return true
}

// report saves the case, unless it comes from a file, and ends the test.
func (c *check) report(r *result, s *Schedule, origin, path string) {
	c.t.Helper()
	text := strings.TrimRight(invariants.Report(r.tr, r.found), "\n")
	k := savedCase{invariant: r.found[0].Invariant, schedule: *s, path: path}
	c.fatal(text, &k, origin)
}

// fatal ends the test: what broke, the schedule and where it is kept, and the
// line that runs it again.
func (c *check) fatal(text string, k *savedCase, origin string) {
	c.t.Helper()
	headline, _, _ := strings.Cut(text, "\n")
	title, schedule, kept := "schedule, saved as "+k.path, k.schedule.String(), true
	if k.path == "" {
		file, err := k.save(c.t.Name(), headline)
		title = "schedule, saved as " + file
		if err != nil {
			kept = false
			title = fmt.Sprintf("case, which could not be saved (%v): write the lines below, without their indent, to %s", err, k.file(c.t.Name()))
			schedule = k.text(c.t.Name(), headline)
		}
	}
	c.t.Fatalf("%s\n%s\n%s\nrun it again: %s", text, indent(title, schedule), origin, c.rerun(!kept))
}
