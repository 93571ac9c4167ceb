package faultsim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An Outage is a time in which a tool is down: every call that arrives in it is
// answered with the class, whatever the attempt's own fault.
type Outage struct {
	Tool     string        // Main: the adapter's first tool
	From, To time.Duration // from the begin of the first action; To is the first instant after it
	Class    trace.Class
}

// A Quota is what a tool grants: N calls in each window of Per, counted from
// the begin of the first action. What is over it is throttled and asks for a
// wait until the window ends. Calls that arrive in an outage, or that a bucket
// refuses, are not counted.
type Quota struct {
	Tool string // Main: the adapter's first tool
	N    int
	Per  time.Duration
}

// end is when the window ends that the instant falls into.
func (q *Quota) end(at time.Duration) time.Duration { return at - at%q.Per + q.Per }

func (o *Outage) validate() error {
	switch {
	case o.Tool == "":
		return errors.New("an outage has no Tool: name one, or say Main for the first")
	case o.From < 0 || o.To <= o.From:
		return fmt.Errorf("an outage of %s: From is %v and To is %v: it must begin at 0 or later, and end after that", o.Tool, o.From, o.To)
	case o.To > longestTime:
		return fmt.Errorf("an outage of %s: To is %v: a trial plays a year (%v) at most", o.Tool, o.To, longestTime)
	case o.Class <= trace.OK || o.Class > trace.Unknown:
		return fmt.Errorf("an outage of %s: Class is %q: say a class that fails", o.Tool, o.Class)
	}
	return nil
}

func (q *Quota) validate() error {
	switch {
	case q.Tool == "":
		return errors.New("a quota has no Tool: name one, or say Main for the first")
	case q.N < 1 || q.Per <= 0:
		return fmt.Errorf("a quota of %s: N is %d and Per is %v: both must be more than 0", q.Tool, q.N, q.Per)
	case q.Per > longestTime:
		return fmt.Errorf("a quota of %s: Per is %v: a trial plays a year (%v) at most", q.Tool, q.Per, longestTime)
	}
	return nil
}

// over is the fault of a call that exceeds the quota at the instant.
func (q *Quota) over(at time.Duration) Fault {
	return Fault{Class: trace.Throttled, Hint: q.end(at) - at}
}

// A climate is what changes with the time in one trial: the schedule's outages,
// quotas and buckets, and the calls that have used them up.
type climate struct {
	s     *Schedule
	begun bool
	begin time.Time
	used  []usage // by number of the quota

	levels            []level // by number of the bucket
	down, over, empty bool    // a call has met an outage, was more than a quota grants, or found no token
}

type usage struct {
	window time.Duration // its end
	calls  int
}

// clone is a climate that is used up by itself.
func (c climate) clone() climate {
	c.used, c.levels = slices.Clone(c.used), slices.Clone(c.levels)
	return c
}

// despite is what the time does to an attempt, with what of its own fault the tool
// does not decide about: the caller's cancel, and what becomes of the process.
func (f *Fault) despite(spell Fault) Fault {
	spell.Cancel, spell.Crash, spell.Drain = f.Cancel, f.Crash, f.Drain
	return spell
}

// fault is what the time does to a call that arrives now, and whether it does anything;
// f is the call's own fault, which may be the same.
func (c *climate) fault(is func(name string) bool, f Fault) (of Fault, decides bool) {
	return c.faultAt(time.Since(c.begin), is, f)
}

// faultAt is fault for a call that arrives at the instant.
func (c *climate) faultAt(at time.Duration, is func(name string) bool, f Fault) (of Fault, decides bool) {
	for i := range c.s.Outages {
		if o := &c.s.Outages[i]; is(o.Tool) && at >= o.From && at < o.To {
			c.down = true
			return f.despite(Fault{Class: o.Class}), true
		}
	}
	return c.limited(at, is, f)
}

// limited is what the buckets and the quotas of the tool do to a call that arrives at
// the instant. What a bucket refuses does not reach a quota, and uses nothing of it up.
func (c *climate) limited(at time.Duration, is func(name string) bool, f Fault) (limited Fault, decides bool) {
	if wait := c.waits(is, at); wait > 0 {
		c.empty = true
		return f.despite(Throttle(wait)), true
	}
	limited = f
	for i := range c.s.Quotas {
		if q := &c.s.Quotas[i]; is(q.Tool) && !c.grants(i, q, at) {
			c.over = true
			limited, decides = f.despite(q.over(at)), true
		}
	}
	return limited, decides
}

// expires reports whether a credential that was issued at the instant has
// expired by now.
func (c *climate) expires(issued time.Time) bool {
	at, now := issued.Sub(c.begin), time.Since(c.begin)
	return expired(c.s.Expiries, at, now)
}

// expired reports whether one of the expiries lies behind the issue and not
// behind the call.
func expired(expiries []time.Duration, issued, at time.Duration) bool {
	return slices.ContainsFunc(expiries, func(e time.Duration) bool { return e > issued && e <= at })
}

// grants counts the call and reports whether the quota has room for it.
func (c *climate) grants(i int, q *Quota, at time.Duration) bool {
	if c.used == nil {
		c.used = make([]usage, len(c.s.Quotas))
	}
	u := &c.used[i]
	if end := q.end(at); u.window != end {
		*u = usage{window: end}
	}
	u.calls++
	return u.calls <= q.N
}

// spellsFit reports why the outages and quotas cannot be played; nil: they can.
func (s *Stage) spellsFit(sched *Schedule) error {
	if err := sched.validateCalm(); err != nil {
		return err
	}
	for i := range sched.Outages {
		o := &sched.Outages[i]
		if err := o.validate(); err != nil {
			return fmt.Errorf("faultsim: %w", err)
		}
		if err := s.spellFits(o.Tool, Fault{Class: o.Class}, "an outage"); err != nil {
			return err
		}
	}
	for i := range sched.Quotas {
		q := &sched.Quotas[i]
		if err := q.validate(); err != nil {
			return fmt.Errorf("faultsim: %w", err)
		}
		if err := s.spellFits(q.Tool, q.over(0), "a quota"); err != nil {
			return err
		}
	}
	for i := range sched.Buckets {
		b := &sched.Buckets[i]
		if err := b.validate(); err != nil {
			return fmt.Errorf("faultsim: %w", err)
		}
		if err := s.spellFits(b.Tool, Throttle(b.Every), "a bucket"); err != nil {
			return err
		}
	}
	switch {
	case sched.Jitter == JitterLoose:
	case !slices.Contains(jitterPins, sched.Jitter):
		return fmt.Errorf("faultsim: Jitter is %q: say JitterLeast, JitterGreatest, or nothing", sched.Jitter)
	case !s.jittered:
		return &UnfitError{"the schedule pins the jitter, and the code does not take it from Stage.Jitter", 0, "", 0}
	}
	for _, name := range sched.Serial {
		if s.lookup(name) == nil {
			return &UnfitError{s.unknown(name), 0, name, 0}
		}
	}
	for _, at := range sched.Expiries {
		switch {
		case at <= 0 || at > longestTime:
			return fmt.Errorf("faultsim: credentials expire at %v: count it from the begin of the first action, up to a year", at)
		case s.issuer == nil:
			return &UnfitError{"credentials expire by the schedule, and the stage has no Issuer: put one on it", 0, "", 0}
		}
	}
	return nil
}

func (s *Stage) spellFits(name string, f Fault, what string) error {
	t := s.lookup(name)
	plain := Fault{Class: f.Class}
	switch {
	case t == nil:
		return &UnfitError{s.unknown(name), 0, name, 0}
	case !t.can(&plain):
		return &UnfitError{fmt.Sprintf("%s cannot answer as %s plans: %s: give it that class", t.name, what, describe(&f)), 0, name, 0}
	case !t.can(&f):
		return &UnfitError{fmt.Sprintf("%s cannot answer as %s plans: %s: let it ask for a wait, with Hinted in Errors or a form in Route.Hints", t.name, what, describe(&f)), 0, name, 0}
	}
	return nil
}

// ExpectFirst is [Expect] for the first action of a schedule, with the outages,
// quotas and buckets that the schedule has for [Main].
func ExpectFirst(p invariants.Policy, s Schedule) (Expectation, bool) {
	return expect(p, s.plans()[0], &s, 1)
}

// spell is what the time does to an attempt that begins, and whether it does anything.
// It counts the call.
func (pl *player) spell(f Fault, t *turn) (of Fault, decides bool) {
	if pl.sched == nil {
		return f, false
	}
	if f = pl.sched.stilled(f, t.at); pl.sched.calm(t.at) {
		return f, false
	}
	t.climate = t.climate.clone() // what it has used up, other courses have not
	return t.climate.faultAt(t.at, isMain, f)
}

// isMain: a player knows of no tool but the main one.
func isMain(name string) bool { return name == Main }

// changes lists the instants between two at which an outage begins or ends, or a window
// of a quota does, or a bucket gets a token, behind the turn: an attempt just before
// sees something else than one at the instant.
func (pl *player) changes(t *turn, lo, hi time.Duration) []time.Duration {
	if pl.sched == nil {
		return nil
	}
	var list []time.Duration
	add := func(at time.Duration) {
		if at > lo && at < hi {
			list = append(list, at-1, at)
		}
	}
	for _, o := range pl.sched.Outages {
		add(o.From)
		add(o.To)
	}
	for i := range pl.sched.Quotas {
		add(pl.sched.Quotas[i].end(lo))
	}
	for i := range t.climate.levels {
		add(t.climate.levels[i].next(&pl.sched.Buckets[i]))
	}
	for _, at := range pl.sched.Expiries {
		add(at)
	}
	add(pl.sched.Calm)
	return list
}
