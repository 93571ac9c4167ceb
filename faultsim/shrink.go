package faultsim

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"pgregory.net/rapid"
)

const (
	reruns     = 20              // of a failing schedule, to see whether it always fails
	confirm    = 3               // runs of a smaller schedule, which may have made two events meet at one instant
	shrinkTime = 3 * time.Second // real time for shrinking
)

// failed handles the first failing trial: it is run again alone, shrunk,
// saved and reported.
func (c *check) failed(f *failure) {
	c.t.Helper()
	origin := fmt.Sprintf("trial %d of %d, seed %d", f.n+1, c.set.trials, c.set.seed)
	if f.r.err != nil {
		c.t.Fatalf("%v\n%s", f.r.err, indent("schedule", f.s.String()))
	}
	c.minimise(f)
	switch {
	case f.rate == 0:
		c.unrepeatable(f.s, f.r, origin)
	case f.rate < reruns:
		origin += fmt.Sprintf("; it fails in %d of %d runs: a race in the code under test decides", f.rate, reruns)
	}
	c.report(f.r, &f.s, origin, "")
}

// repeat runs the schedule again and returns the invariant that it breaks
// first and in how many of the runs.
func (c *check) repeat(s *Schedule, r *result) (name string, rate int) {
	var again *result
	for range reruns {
		if now := c.trial(s, nil); now.broken() {
			rate++
			if again == nil {
				again = now
			}
		}
	}
	if !r.broken() && again != nil {
		*r = *again
	}
	if r.broken() {
		name = r.found[0].Invariant
	}
	return name, rate
}

// unrepeatable reports a failure that does not come back alone.
func (c *check) unrepeatable(s Schedule, r *result, origin string) {
	c.t.Helper()
	text := "state-between-trials: a trial failed among others and passes alone\n" +
		"    advice: look for a package-level variable in the code under test (a breaker, a limiter, a client, a counter), or for a race: build everything in Subject\n"
	if r.broken() {
		text = r.found[0].String() + text + r.tr.Timeline(r.found[0].Events...)
	}
	c.t.Fatalf("%s%s\n%s\nrun it again: %s", text, indent("schedule", s.String()), origin, rerun(c.t))
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

// shrink lets rapid make the schedule of trial n smaller while it breaks the
// same invariant. Rapid draws it once more from the trial's seed, which it
// takes from its flags only; they are set for the length of this call, and its
// own fail file is off, since ours is readable.
func (c *check) shrink(n int, s Schedule, name string) Schedule {
	shrinking.Lock()
	defer shrinking.Unlock()
	defer setFlags(map[string]string{
		"rapid.seed":       strconv.FormatUint(trialSeed(c.set.seed, n), 10),
		"rapid.checks":     "5", // of which -short leaves one
		"rapid.nofailfile": "true",
		"rapid.failfile":   "",
	})()
	smallest := s
	stop := time.Now().Add(shrinkTime)
	tb := &quietTB{name: c.t.Name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(tb, func(t *rapid.T) {
			s := c.gen.Draw(t, "schedule")
			if time.Now().After(stop) {
				return
			}
			if c.always(&s, name, confirm) {
				smallest = s
				t.Fatalf("%s", name)
			}
		})
	}()
	<-done
	return smallest
}

// shrinking guards rapid's flags.
var shrinking sync.Mutex

// setFlags sets flags and returns a function that puts them back.
func setFlags(values map[string]string) (restore func()) {
	old := map[string]string{}
	for name, value := range values {
		if f := flag.Lookup(name); f != nil {
			old[name] = f.Value.String()
			_ = f.Value.Set(value)
		}
	}
	return func() {
		for name, value := range old {
			_ = flag.Lookup(name).Value.Set(value)
		}
	}
}

// A quietTB lets rapid run a property whose outcome we report ourselves.
type quietTB struct {
	name   string
	mu     sync.Mutex
	failed bool
}

var _ rapid.TB = (*quietTB)(nil)

func (q *quietTB) Helper()               {}
func (q *quietTB) Name() string          { return q.name }
func (q *quietTB) Logf(string, ...any)   {}
func (q *quietTB) Log(...any)            {}
func (q *quietTB) Skipf(string, ...any)  { q.SkipNow() }
func (q *quietTB) Skip(...any)           { q.SkipNow() }
func (q *quietTB) SkipNow()              { runtime.Goexit() }
func (q *quietTB) Errorf(string, ...any) { q.Fail() }
func (q *quietTB) Error(...any)          { q.Fail() }
func (q *quietTB) Fatalf(string, ...any) { q.FailNow() }
func (q *quietTB) Fatal(...any)          { q.FailNow() }
func (q *quietTB) FailNow()              { q.Fail(); runtime.Goexit() }

func (q *quietTB) Fail() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed = true
}

func (q *quietTB) Failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// always reports whether the schedule breaks the invariant in each of n runs.
func (c *check) always(s *Schedule, name string, n int) bool {
	for range n {
		if r := c.trial(s, nil); r.err != nil || !r.breaks(name) {
			return false
		}
	}
	return true
}

// trim takes out, one at a time, what the failure does not need: options of
// faults, faults, limits, actions. Rapid cannot take a thing out of the middle
// of a list whose length it has drawn.
func (c *check) trim(s Schedule, name string) Schedule {
	stop := time.Now().Add(shrinkTime)
	for again := true; again; {
		again = false
		for smaller := range simpler(s, &c.shapes) {
			if time.Now().After(stop) {
				return s
			}
			if c.always(&smaller, name, confirm) {
				s, again = smaller, true
				break
			}
		}
	}
	return s
}

// report saves the case, unless it comes from a file, and ends the test.
func (c *check) report(r *result, s *Schedule, origin, path string) {
	c.t.Helper()
	headline, _, _ := strings.Cut(r.found[0].String(), "\n")
	saved := "schedule, saved as " + path
	if path == "" {
		k := savedCase{invariant: r.found[0].Invariant, schedule: *s}
		file, err := k.save(c.t.Name(), headline)
		if saved = "schedule, saved as " + file; err != nil {
			saved = fmt.Sprintf("schedule, which could not be saved (%v): write the lines below to %s", err, caseDir(c.t.Name())+"/"+k.invariant+".case")
			c.t.Fatalf("%s", c.text(r, saved, k.text(c.t.Name(), headline), origin))
		}
	}
	c.t.Fatalf("%s", c.text(r, saved, s.String(), origin))
}

func (c *check) text(r *result, saved, schedule, origin string) string {
	report := strings.TrimRight(invariants.Report(r.tr, r.found), "\n")
	return fmt.Sprintf("%s\n%s\n%s\nrun it again: %s", report, indent(saved, schedule), origin, rerun(c.t))
}
