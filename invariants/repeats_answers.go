package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// pairRule makes an invariant of a function that looks at a call and one that
// began before it.
func (r Repeats) pairRule(name, text string, look func(before, c *served) Verdict) Invariant {
	return r.groupRule(name, text, func(_ *trace.Trace, g group) (v Verdict) {
		for i := range g {
			for n := range i {
				w := look(&g[n], &g[i])
				v.Applied += w.Applied
				if v.Findings = append(v.Findings, w.Findings...); len(w.Findings) > 0 {
					break // one for each call
				}
			}
		}
		return v
	})
}

// sameResult is: a repeat of a success gets its result. A tool that knows
// repeats by the state may word it in another way.
func (r Repeats) sameResult() Invariant {
	return r.pairRule("repeat-gets-the-result", "a repeat of a call that succeeded gets its result", func(c, d *served) (v Verdict) {
		switch {
		case !c.succeeded() || !c.sameArgs(d):
		case d.Ended && d.Error == "" && r.By == ByKey:
			if v.Applied++; !trace.SameArgs(c.Result, d.Result) {
				v.report(d.Action, fmt.Sprintf("a repeat with %s got another result than the call before: %s, not %s", r.says(d), resultText(d.Result), resultText(c.Result)),
					"keep the result with the key, and return what is kept", c.EndEvent, d.EndEvent)
			}
		case d.failed() && c.returned(d) && d.smooth():
			v.Applied++
			v.report(d.Action, fmt.Sprintf("a repeat with %s %s, and the call before had succeeded", r.says(d), d.ended()),
				"a caller repeats because it has no answer: return the one that is kept, not word that it is a duplicate", c.EndEvent, d.EndEvent)
		case d.Ended && c.returned(d):
			v.Applied++
		}
		return v
	})
}

// resultText is a result, for a finding.
func resultText(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return string(raw)
}

// clash is: a key that comes with other arguments is refused, has no effect,
// and nothing else is refused so.
func (r Repeats) clash() Invariant {
	const name = "clash-is-refused"
	return r.groupRule(name, "a key that was used with other arguments is refused and does nothing, and nothing else is refused so", func(_ *trace.Trace, g group) (v Verdict) {
		owner := g.owner()
		for i := range g {
			d := &g[i]
			if v.Applied++; d.Code == CodeClash && r.By == ByKey && !g.uses(d) {
				v.report(d.Action, fmt.Sprintf("a call was refused as a clash (%q), and its key had been used with nothing else", d.Error),
					"compare the whole key, and a digest of the arguments that does not depend on their order or on the time", d.BeginAt, d.EndEvent)
				continue
			}
			if r.By == ByKey && owner != nil && owner.BeginAt < d.BeginAt && !owner.sameArgs(d) {
				v.Findings = append(v.Findings, clashing(owner, d).Findings...)
			}
		}
		return v
	})
}

// owner is the first call of the group that succeeded: the key stands for what
// it asked; nil: none did.
func (g group) owner() *served {
	for i := range g {
		if g[i].succeeded() {
			return &g[i]
		}
	}
	return nil
}

// uses reports whether another call of the group asks for something else.
func (g group) uses(d *served) bool {
	for i := range g {
		if !g[i].sameArgs(d) {
			return true
		}
	}
	return false
}

// clashing looks at a call whose key an earlier one has success with.
func clashing(c, d *served) (v Verdict) {
	const advice = "keep a digest of the arguments with the key, and compare it before anything is done or returned"
	switch {
	case len(d.effects) > 0 && (c.returned(d) || d.succeeded()):
		v.report(d.Action, fmt.Sprintf("a call with key %q and other arguments did its work", d.Key), advice, append([]int{c.BeginAt, d.BeginAt}, d.effects...)...)
	case d.succeeded():
		v.report(d.Action, fmt.Sprintf("a call with key %q and other arguments succeeded with %s", d.Key, resultText(d.Result)), advice, c.BeginAt, d.BeginAt, d.EndEvent)
	case d.failed() && c.returned(d) && d.smooth() && d.Code != CodeClash:
		v.report(d.Action, fmt.Sprintf("a call with key %q and other arguments %s, not as a clash", d.Key, d.ended()),
			"refuse it, and say that the key belongs to another request: as it is, the caller cannot tell what to mend", c.BeginAt, d.BeginAt, d.EndEvent)
	}
	return v
}

// overlapping is: a repeat that comes while the first call is under way gets
// what is declared.
func (r Repeats) overlapping() Invariant {
	return r.pairRule("at-once-as-declared", "a repeat that comes while the first call is under way gets its result, or is refused as in progress, as is declared", func(c, d *served) (v Verdict) {
		if c.returned(d) || !c.succeeded() || !c.sameArgs(d) || !d.smooth() {
			return v
		}
		v.Applied++
		const advice = "let it wait for the result, or refuse it in words that say that it may be repeated"
		switch {
		case d.failed() && d.Code != CodeBusy:
			v.report(d.Action, fmt.Sprintf("a repeat with %s that came while the first call was under way %s", r.says(d), d.ended()), advice, c.BeginAt, d.BeginAt, d.EndEvent)
		case d.failed() && r.AtOnce == AtOnceWaits:
			v.report(d.Action, fmt.Sprintf("a repeat with %s was refused as in progress, and the contract says that it waits", r.says(d)), advice, c.BeginAt, d.BeginAt, d.EndEvent)
		case d.succeeded() && r.AtOnce == AtOnceRefused && len(d.Attempts) == 0 && c.working(d):
			v.report(d.Action, fmt.Sprintf("a repeat with %s waited for the first call, and the contract says that it is refused", r.says(d)), advice, c.BeginAt, d.BeginAt, d.EndEvent)
		}
		return v
	})
}

// working reports whether a tool below was at work for the call when d began.
func (c *served) working(d *served) bool {
	for i := range c.Attempts {
		if at := &c.Attempts[i]; at.Event < d.BeginAt && at.AnswerEvent > d.BeginAt && at.AnswerEvent < d.EndEvent {
			return true
		}
	}
	return false
}

// released is: a key is said to be in progress only while a call that uses it,
// or its work, is under way, and for the lease after that.
func (r Repeats) released() Invariant {
	return r.groupRule("key-is-released", "a key is in progress only while a call with it is under way", func(_ *trace.Trace, g group) (v Verdict) {
		for i := range g {
			d := &g[i]
			if v.Applied++; d.Code != CodeBusy || r.busy(g, d) {
				continue
			}
			v.report(d.Action, fmt.Sprintf("a call with %s was refused as in progress (%q), and none was under way", r.says(d), d.Error),
				"release the key where the call fails, also where its caller leaves; give it a lease that ends by itself where the process may die", d.BeginAt, d.EndEvent)
		}
		return v
	})
}

// busy reports whether another call of the group was alive while d was.
func (r *Repeats) busy(g group, d *served) bool {
	for i := range g {
		c := &g[i]
		if c.BeginAt != d.BeginAt && c.BeginAt < d.EndEvent && (!c.over(d) || r.Lease > 0 && d.Begin <= c.lastAt+r.Lease) {
			return true
		}
	}
	return false
}
