package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// OperatorRetry is: an action that is done again at somebody's word, after it had
// ended, begins with a count and a clock of its own, and so makes an attempt and
// is not given up while the policy allows more (field case F062). It is the same
// intention: where an attempt of the time before may have done its work, it sends
// the same key (F033), unless a refusal has settled the matter since. Whether its action had succeeded before is looked at: then
// it need not call the tool.
func OperatorRetry(p Policy) Invariant {
	return rareRule("operator-retry", "an action that is done again at an operator's word begins afresh, and as the same action",
		func(a *trace.Action) bool { return a.Again != 0 },
		func(sc scene, a *trace.Action) (v Verdict) {
			before := earlier(sc.tr.Actions(), a)
			if before == nil {
				return v
			}
			v.Applied++
			if first, other := p.changedKey(sc.tr.Actions(), a); other != nil {
				v.report(a, fmt.Sprintf("%s was called with %s, and an attempt with %s may have done its work before", other.Tool, keyText(other.Key), keyText(first.Key)),
					"keep the key with the action, and make a new one only where nothing can have been done", first.Event, other.Event)
				return v
			}
			if text := p.spent(&sc, a); text != "" {
				v.report(a, text, "count the attempts and the time of a retry from its own begin, and keep what was before as history", before.EndEvent, a.EndEvent)
			}
			return v
		})
}

// earlier is the action that a does again; nil: none, or none before it.
func earlier(actions []trace.Action, a *trace.Action) *trace.Action {
	if a.Again < 1 || a.Again > len(actions) {
		return nil
	}
	if before := &actions[a.Again-1]; before != a && before.Begin <= a.Begin {
		return before
	}
	return nil
}

// sameIntention reports whether one of the two actions is the other, done again.
func sameIntention(actions []trace.Action, a, b *trace.Action) bool {
	first := func(a *trace.Action) *trace.Action {
		for range actions { // a file can say that two do each other again
			before := earlier(actions, a)
			if before == nil {
				break
			}
			a = before
		}
		return a
	}
	return first(a) == first(b)
}

// changedKey is an attempt of an earlier time that may have done its work, and
// one of this time that carries another key; nil: there are none.
func (p *Policy) changedKey(actions []trace.Action, a *trace.Action) (first, other *trace.Attempt) {
	if p.Key == "" {
		return nil, nil
	}
	before := earlier(actions, a)
	for n := 0; before != nil && n < len(actions) && !p.declined(before); n++ {
		for i := range before.Attempts {
			at := &before.Attempts[i]
			if at.Seen && p.effect(&at.Outcome) == trace.EffectNotDone {
				continue
			}
			for j := range a.Attempts {
				if b := &a.Attempts[j]; b.Tool == at.Tool && b.Key != at.Key && trace.SameArgs(b.Args, at.Args) {
					return at, b
				}
			}
		}
		before = earlier(actions, before)
	}
	return nil, nil
}

// declined reports whether the action's last answer was a refusal that settles
// the matter: a new key may follow it.
func (p *Policy) declined(a *trace.Action) bool {
	if len(a.Attempts) == 0 {
		return false
	}
	last := &a.Attempts[len(a.Attempts)-1]
	return last.Seen && !p.Retries(last.Outcome.Class) && p.effect(&last.Outcome) == trace.EffectNotDone
}

// spent words what counters of the time before have left of the retry; empty:
// nothing is wrong.
func (p *Policy) spent(sc *scene, a *trace.Action) string {
	if !a.Ended || a.Error == "" {
		return ""
	}
	if len(a.Attempts) == 0 {
		if excusedFromCalling(sc, a) || settled(sc.tr.Actions(), a) {
			return ""
		}
		return "the action was begun again and ended without an attempt"
	}
	for i := range a.Series {
		for w := p.walk(*sc, a, &a.Series[i]); w.next(); {
			if w.last && w.then == nil && w.d.Do == Go && !w.refused() && !w.excused() {
				return fmt.Sprintf("the action was begun again and given up after attempt %d of %s, and more were allowed", w.at.N, w.at.Tool)
			}
		}
	}
	return ""
}

// settled reports whether an earlier time of the action had succeeded, or a tool
// had answered in it.
func settled(actions []trace.Action, a *trace.Action) bool {
	before := earlier(actions, a)
	for n := 0; before != nil && n < len(actions); n++ {
		if before.Ended && before.Error == "" {
			return true
		}
		for i := range before.Attempts {
			if at := &before.Attempts[i]; at.Seen && at.Outcome.Class == trace.OK {
				return true
			}
		}
		before = earlier(actions, before)
	}
	return false
}
