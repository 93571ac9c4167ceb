package invariants

import (
	"fmt"
	"math"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// JitterSpreads is: callers that fail together do not all come back together.
// Waits that the policy lets jitter spread over one window, after the same
// attempt of several actions, are not all the same: also at the cap, and over a
// hint where Hint.Jitter adds to it (field case F007; AWS Architecture Blog,
// "Exponential Backoff And Jitter").
//
// It judges a window only where independent callers would all hit one wait less
// than once in 1e9, even if each of them drew whole milliseconds. So it takes
// several actions in a trace: eight where the window is 20 ms wide, four where it
// is a second. A window with a point that many draws end on is left out: at a cap that comes
// after the jitter, and at a hint that only bounds the own backoff from below.
//
// It is no part of a policy. A program that is handed a jitter which is always the
// same, as tests do, keeps its policy and breaks this rule.
func JitterSpreads(p Policy) Invariant {
	const name = "jitter-spreads"
	return Invariant{Name: name, idles: true, Rule: "the jitter differs between callers that fail together",
		Check: func(tr *trace.Trace) Verdict {
			var v Verdict
			for _, w := range p.waves(tr) {
				if !w.telling() {
					continue
				}
				v.Applied++
				if w.same && len(v.Findings) == 0 {
					v.report(w.first, fmt.Sprintf("%d callers all waited %v after attempt %d of %s, where jitter spreads the wait from %v to %v", w.callers, w.wait, w.n, w.tool, w.lo, w.hi),
						"draw the jitter anew for each wait, from a source that is not seeded with a constant, and draw it at the cap and over the tool's own wait too", w.events...)
					v.Findings[0].Invariant = name
				}
			}
			return v
		}}
}

// A wave is the waits of several actions after the same attempt, which the policy
// spreads over the same window.
type wave struct {
	tool    string
	n       int
	lo, hi  time.Duration
	first   *trace.Action
	last    *trace.Action // that has been counted
	wait    time.Duration
	callers int
	same    bool
	events  []int
}

// telling reports whether chance makes all waits of the wave the same less than
// once in 1e9.
func (w *wave) telling() bool {
	places := float64((w.hi - w.lo) / time.Millisecond)
	return w.callers > 1 && math.Pow(places, float64(w.callers-1)) >= 1e9
}

// waves collects the waits of a trace, in order.
func (p *Policy) waves(tr *trace.Trace) []*wave {
	var all []*wave
	actions, sc := tr.Actions(), lookAt(tr)
	if len(actions) < 2 {
		return nil
	}
	for i := range actions {
		a := &actions[i]
		if sc.unsureOf(a) {
			continue
		}
		for s := range a.Series {
			for w := p.walk(sc, a, &a.Series[s]); w.next(); {
				if w.spreads() {
					all = inWave(all, &w)
				}
			}
		}
	}
	return all
}

// spreads reports whether the step's wait is one over which jitter is spread
// evenly enough.
func (w *walk) spreads() bool {
	b := &w.p.Backoff
	switch {
	case w.then == nil || w.d.Do == Stop || w.side != 0 || w.fresh || !w.inWindow(w.wait()):
		return false
	case w.d.Hinted:
		return w.p.Hint.Jitter > 0
	}
	capped := b.Cap > 0 && w.d.Hi >= b.Cap
	return !b.Jitter.none() && !(capped && (b.CapIs != CapBefore || b.Jitter.Decorrelated))
}

// inWave adds the step's wait to its wave.
func inWave(all []*wave, s *walk) []*wave {
	wait := s.wait()
	for _, w := range all {
		if w.tool != s.at.Tool || w.n != s.at.N || w.lo != s.d.Lo || w.hi != s.d.Hi {
			continue
		}
		if w.last != s.a {
			w.last = s.a
			w.callers++
			w.same = w.same && w.wait == wait
			w.events = append(w.events, s.then.Event)
		}
		return all
	}
	return append(all, &wave{tool: s.at.Tool, n: s.at.N, lo: s.d.Lo, hi: s.d.Hi, first: s.a, last: s.a, wait: wait, callers: 1, same: true, events: []int{s.then.Event}})
}
