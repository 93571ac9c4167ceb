package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// noEffect is: the work of one key is done once, however often it is called,
// after a success, after a lost reply or at once.
func (r Repeats) noEffect() Invariant {
	const name = "repeat-has-no-effect"
	return r.groupRule(name, "the work of one key is done once, however often the tool is called", func(tr *trace.Trace, g group) (v Verdict) {
		done := map[string][]int{}
		for i := range g {
			v.Applied++
			if !g[i].sameArgs(&g[0]) {
				continue // see clash-is-refused
			}
			for _, e := range g[i].effects {
				tool := tr.Events[e].Tool
				done[tool] = append(done[tool], e)
			}
		}
		for i := range g { // in the order of the trace, and each tool once
			for _, e := range g[i].effects {
				tool := tr.Events[e].Tool
				if twice := done[tool]; len(twice) > r.allowed() {
					v.report(g[i].Action, fmt.Sprintf("%s did its work %d times for %s", tool, len(twice), r.says(&g[0])),
						"take the key, in one step that only one call can win, before the work begins; keep the result with it for as long as is promised; after an outcome that is not known, ask what became of it or hand the key on. Where this tool only reads, name the one that works: Repeats.Work", twice...)
				}
				delete(done, tool)
			}
		}
		return v
	})
}

// backed is: a success has work behind it that was done for its own key.
func (r Repeats) backed() Invariant {
	const name = "success-has-effect"
	return Invariant{Name: name, Rule: "behind each success there is work of its own key", Check: func(tr *trace.Trace) (v Verdict) {
		if unclaimed(tr) {
			return v
		}
		for _, g := range r.groups(tr) {
			v.add(name, r.backedGroup(g))
		}
		return v
	}}
}

func (r *Repeats) backedGroup(g group) (v Verdict) {
	for i := range g {
		c := &g[i]
		if !c.succeeded() {
			continue
		}
		v.Applied++
		work := 0
		for n := range g {
			if g[n].sameArgs(c) {
				work += len(g[n].effects)
			}
			if g[n].declined() {
				return v
			}
		}
		if work == 0 {
			v.report(c.Action, fmt.Sprintf("a call with %s succeeded, and no work was done for it", r.says(c)),
				"know a repeat by the whole key and nothing else, and call it done only once the work is", c.BeginAt, c.EndEvent)
			return v
		}
	}
	return v
}

// unclaimed reports whether work in the trace belongs to no call: then it cannot be
// told which call has none.
func unclaimed(tr *trace.Trace) bool {
	for i := range tr.Events {
		if tr.Events[i].Ambiguous && (tr.Events[i].Kind == trace.KindEffect || tr.Events[i].Kind == trace.KindCall) {
			return true
		}
	}
	return false
}

// keyless is: a call without a key gets what is declared.
func (r Repeats) keyless() Invariant {
	text := "a call without a key is refused, and does nothing"
	if r.Keyless == KeylessRuns {
		text = "a call without a key is work of its own"
	}
	return rule("keyless-as-declared", text, func(tr *trace.Trace, a *trace.Action) (v Verdict) {
		if a.BeginAt < 0 || a.Key != "" {
			return v
		}
		c := r.call(tr, a)
		if r.Keyless == KeylessRuns {
			if c.smooth() && !unclaimed(tr) {
				v.Applied++
				if len(c.effects) == 0 {
					v.report(a, "a call without a key did no work, and "+c.ended(),
						"no key is not a key: two calls without one have nothing in common", c.BeginAt, c.EndEvent)
				}
			}
			return v
		}
		v.Applied++
		switch {
		case len(c.effects) > 0:
			v.report(a, "a call without a key did its work", "refuse it before anything is done: nobody could repeat it safely", c.effects...)
		case !c.left() && c.Ended && c.Code != CodeKeyless:
			v.report(a, "a call without a key "+c.ended(), "refuse it, and say that the key is missing", c.BeginAt, c.EndEvent)
		}
		return v
	})
}
