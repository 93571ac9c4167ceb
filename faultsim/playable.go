package faultsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// longestPromise bounds each time of a policy: rows and draws go beyond it, and
// must stay within what a trial plays.
const longestPromise = longestTime / 8

// longestAction bounds all waits of one action. What takes longer could not be
// told from an action that never returns.
const longestAction = longestTime / 2

// mostCounted bounds what rows count up to: the pages of an action, the failures
// and probes of a breaker.
const mostCounted = 1000

// playable reports what makes a policy that is sound no policy for trials.
func playable(p *invariants.Policy) error { return playableIn(p.ID, "", p) }

func playableIn(id, prefix string, p *invariants.Policy) error {
	var errs []error
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("policy %q: %s%s: %s", id, prefix, field, fmt.Sprintf(format, args...)))
		}
	}
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"Attempt", p.Attempt}, {"Budget", p.Budget}, {"Backoff.Base", p.Backoff.Base},
		{"Hint.Limit", p.Hint.Limit}, {"Hedge.After", p.Hedge.After}, {"Backoff.Delays", slices.Max(append(slices.Clone(p.Backoff.Delays), 0))},
	} {
		want(d.value <= longestPromise, d.field, "is %v, and a trial plays %v at most: say less, or 0 for none", d.value, longestPromise)
	}
	want(p.MaxAttempts <= maxAttempt, "MaxAttempts", "is %d, and a trial plays %d at most: say less, or Unlimited with a Budget", p.MaxAttempts, maxAttempt)
	longest := slices.Max(append(slices.Clone(p.Backoff.Delays), p.Backoff.Base))
	_, first := p.Backoff.Window(1, 0)
	_, second := p.Backoff.Window(2, first)
	if longest <= longestPromise {
		want(max(first, second) <= longestPromise, "Backoff", "makes waits of %v and %v, and a trial plays %v at most: look at Factor and Jitter, or set Cap", first, second, longestPromise)
	}
	want(waitsOf(p) <= longestAction, "Backoff", "makes the waits of one action longer than %v, which is all that a trial plays: set Cap, or Budget", longestAction)
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		own := p.Tools[name]
		errs = append(errs, playableIn(id, fmt.Sprintf("Tools[%q].", name), &own))
	}
	return errors.Join(errs...)
}

// waitsOf is how long the waits of one action can be together, up to more than a
// trial plays.
func waitsOf(p *invariants.Policy) (sum time.Duration) {
	if p.Budget > 0 {
		return p.Budget
	}
	prev := time.Duration(0)
	for n := 1; n < min(p.Most(), maxAttempt) && sum <= longestAction; n++ {
		_, prev = p.Backoff.Window(n, prev)
		sum += min(prev, longestAction)
	}
	return sum
}
