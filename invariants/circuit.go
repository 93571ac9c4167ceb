package invariants

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// An effect is what an attempt's end may mean to a breaker. Where chance
// decides, as for an answer at the very instant of the caller's cancel, there
// are several.
type effect uint8

const (
	succeeds effect = 1 << iota
	fails
	neutral
)

// A mode is the state of a breaker.
type mode uint8

const (
	closed mode = iota
	opened
	halfOpen
)

// A circuit is one state in which the breaker may be. It is a value: next
// states are copies.
type circuit struct {
	mode     mode
	turn     int           // how often it has changed its mode; results of an earlier turn are ignored
	row      int           // failures in a row, while closed
	window   uint64        // the last calls, while closed: 1 is a failure
	seen     int           // calls in the window
	since    time.Duration // instant at which it opened
	by       int           // event that opened it
	reopened bool          // a failed probe opened it, and not the threshold
	admitted int           // probes of this turn, neutral ones left out
	good     int           // those that succeeded
	promised int           // probes that began at this instant and whose call is still to come in the trace
	let      int           // calls that were let through
	began    int           // those of them that were let through before the present turn
	flying   []flight      // probes, and calls that went through ahead of what shows before them, that have not settled
	late     []landing     // calls that have been answered and may settle a little later
}

// A flight is a call that was let through in another way than by a closed breaker.
// Those need no place: there can be thousands at once, and all that counts is
// whether the breaker has turned since.
type flight struct {
	call, turn int
	probe      bool
	since      time.Duration // of a probe: when it took its place
}

// A landing is a call that settles before event number until.
type landing struct {
	call, number, event, until int
	effects                    effect
}

func (c *circuit) same(d *circuit) bool {
	return c.mode == d.mode && c.turn == d.turn && c.row == d.row && c.window == d.window && c.seen == d.seen &&
		c.since == d.since && c.by == d.by && c.reopened == d.reopened && c.admitted == d.admitted && c.good == d.good && c.promised == d.promised && c.began == d.began &&
		slices.Equal(c.flying, d.flying) && slices.Equal(c.late, d.late)
}

// probing counts the probes that keep their places, of this turn or of all turns.
func (c *circuit) probing(b *Breaker, now time.Duration, all bool) int {
	n := c.promised
	for i := range c.flying {
		if f := &c.flying[i]; f.probe && (all || f.turn == c.turn) && !f.expired(b, now) {
			n++
		}
	}
	return n
}

// expired reports whether the probe's lease is over. At that very instant it
// depends on the program.
func (f *flight) expired(b *Breaker, now time.Duration) bool {
	return b.Lease > 0 && now-f.since >= b.Lease
}

// expires reports whether a lease ends at the instant.
func (c *circuit) expires(b *Breaker, now time.Duration) bool {
	return b.Lease > 0 && slices.ContainsFunc(c.flying, func(f flight) bool { return f.probe && now-f.since == b.Lease })
}

func (c *circuit) turnTo(m mode) {
	c.mode, c.turn, c.began = m, c.turn+1, c.let
	c.row, c.window, c.seen, c.admitted, c.good = 0, 0, 0, 0, 0
}

// probe makes the state half-open where its cooldown is over, and reports
// whether there is room for another probe.
func (c *circuit) probe(b *Breaker, now time.Duration) bool {
	if c.mode == opened && now-c.since >= b.Cooldown {
		c.turnTo(halfOpen)
	}
	return c.mode == halfOpen && c.probing(b, now, false) < b.probes()
}

// admit lets a call through; ok is false where the breaker must refuse it.
func (c circuit) admit(b *Breaker, call int, now time.Duration) (next circuit, ok bool) {
	switch {
	case c.promised > 0:
		c.promised--
	case c.mode == closed:
		c.let++
		return c, true
	case !c.probe(b, now):
		return c, false
	default:
		c.admitted++
	}
	c.let++
	c.flying = append(slices.Clone(c.flying), flight{call, c.turn, true, now})
	return c, true
}

// refuses reports whether the breaker may refuse a call. With several probes
// allowed, some libraries let only so many through until all have settled.
func (c *circuit) refuses(b *Breaker, now time.Duration) bool {
	all := c.probing(b, now, true)
	switch c.mode {
	case opened:
		return now-c.since <= b.Cooldown || all >= b.probes() || c.expires(b, now)
	case halfOpen:
		return all >= b.probes() || c.probing(b, now, false) > 0 && c.admitted >= b.probes() || c.expires(b, now)
	}
	return false
}

// settle applies the end of a call and appends the states that follow.
func (c circuit) settle(b *Breaker, l landing, now time.Duration, next []circuit) []circuit {
	f, current := c.lands(l)
	if !current {
		return append(next, c) // an earlier generation: its result says nothing of now
	}
	if f.probe && b.Lease > 0 && now-f.since >= b.Lease {
		next = append(next, c) // it has lost its place, and may count for nothing
	}
	for _, e := range []effect{succeeds, fails, neutral} {
		if l.effects&e == 0 {
			continue
		}
		d := c
		if c.mode == closed {
			next = d.count(b, e, l.event, now, next)
		} else {
			d.judge(b, e, l.event, now)
			next = append(next, d)
		}
	}
	return next
}

// lands takes the call out of those in flight, and reports whether it was let
// through in the present turn.
func (c *circuit) lands(l landing) (f flight, current bool) {
	i := slices.IndexFunc(c.flying, func(f flight) bool { return f.call == l.call })
	if i < 0 {
		return flight{}, l.number >= c.began
	}
	f = c.flying[i]
	c.flying = slices.Delete(slices.Clone(c.flying), i, i+1)
	return f, f.turn == c.turn
}

// judge applies the end of a probe.
func (c *circuit) judge(b *Breaker, e effect, event int, now time.Duration) {
	switch e {
	case neutral:
		c.admitted--
	case fails:
		c.open(event, now)
		c.reopened = true
	case succeeds:
		if c.good++; c.good >= b.successes() {
			c.turnTo(closed)
		}
	}
}

func (c *circuit) open(event int, now time.Duration) {
	c.turnTo(opened)
	c.since, c.by, c.reopened = now, event, false
}

// count applies the end of a call while closed. Whether a success that fills
// the window opens it, is up to the library.
func (c circuit) count(b *Breaker, e effect, event int, now time.Duration, next []circuit) []circuit {
	if e == neutral {
		return append(next, c)
	}
	c.row++
	if e == succeeds {
		c.row = 0
	}
	if b.Window > 0 {
		c.window = c.window << 1
		if e == fails {
			c.window |= 1
		}
		c.window &= ^uint64(0) >> (widest - b.Window)
		c.seen = min(c.seen+1, b.Window)
	}
	if !c.over(b) {
		return append(next, c)
	}
	if e == succeeds {
		next = append(next, c)
	}
	c.open(event, now)
	return append(next, c)
}

// over reports whether the threshold has been reached.
func (c *circuit) over(b *Breaker) bool {
	if b.Consecutive > 0 {
		return c.row >= b.Consecutive
	}
	return c.seen >= b.least() && float64(bits.OnesCount64(c.window)) >= b.Rate*float64(c.seen)
}

// why says what state the breaker is in, for a finding.
func (c *circuit) why(b *Breaker, now time.Duration) string {
	switch {
	case c.mode == halfOpen && c.probing(b, now, true) > 0:
		return fmt.Sprintf("is half-open with %d of %d probes under way", c.probing(b, now, true), b.probes())
	case c.mode == halfOpen:
		return fmt.Sprintf("is half-open with no probe under way, %v after it opened", now-c.since)
	case c.mode == opened && now-c.since > b.Cooldown:
		return fmt.Sprintf("opened %v ago, and its cooldown is %v", now-c.since, b.Cooldown)
	case c.mode == opened:
		return fmt.Sprintf("opened %v ago, %s, and has %v of its cooldown left", now-c.since, c.cause(b), b.Cooldown-(now-c.since))
	case b.Consecutive > 0:
		return fmt.Sprintf("is closed: %s in a row, it opens at %d", counted(c.row, "failure"), b.Consecutive)
	}
	return fmt.Sprintf("is closed: %s in the last %d calls, it opens at a rate of %v over %d",
		counted(bits.OnesCount64(c.window), "failure"), c.seen, b.Rate, b.Window)
}

// cause says what opened the breaker.
func (c *circuit) cause(b *Breaker) string {
	switch {
	case c.reopened:
		return "when a probe failed"
	case b.Consecutive > 0:
		return fmt.Sprintf("at %s in a row", counted(b.Consecutive, "failure"))
	}
	return fmt.Sprintf("at a failure rate of %v", b.Rate)
}

// counted is a number and what it counts.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
