package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// reached is the first success of the goal's tool: its work, and the event of the
// answer; nil: there was none.
func (r *run) reached() (w *work, event int) {
	for i := range r.works {
		if w := &r.works[i]; w.tool == r.l.Goal && w.seen && w.class == trace.OK {
			return w, w.shows()
		}
	}
	for _, i := range r.a.Hits {
		if e := &r.tr.Events[i]; e.Tool == r.l.Goal && e.Outcome.Class == trace.OK {
			return nil, i
		}
	}
	return nil, -1
}

// claims reports whether a text claims success.
func (l *Loop) claims(text string) bool {
	if l.Claims != nil {
		return l.Claims(text)
	}
	return ClaimsSuccess(text)
}

// claimAfterSuccess is: no text for the user claims success before the goal's tool
// has answered with one, and no end does ("success wording appears only after
// evidence", Testing Agent Tool-Call Retry Behavior; rule 9 of the field collection).
func (l *Loop) claimAfterSuccess(p *Policy) Invariant {
	const advice = "show no word of success before the answer of the tool that does it, whatever the model says, and end the run as what it is"
	return l.runRule(p, "claim-after-success", fmt.Sprintf("nobody is told of a success before %s has succeeded", l.Goal), func(r *run) (v Verdict) {
		_, goal := r.reached()
		for i := range r.spoken {
			s := &r.spoken[i]
			v.Applied++
			if early, event := s.before(goal); strings.TrimSpace(early) != "" && l.claims(early) {
				v.report(r.a, fmt.Sprintf("the user was told %q, and %s", short([]byte(early)), r.unreachedBy(event)), advice, event)
				return v
			}
		}
		if goal < 0 && r.a.Ended && r.a.Reason == trace.ReasonSuccess {
			v.Applied++
			v.report(r.a, fmt.Sprintf("the run ended as a success, and %s", r.unreachedBy(r.a.EndEvent)), advice, r.a.EndEvent)
		}
		return v
	})
}

// before is what the segment told before the event, and the event that told it last;
// -1 is no event, and everything is before it.
func (s *segment) before(event int) (text string, last int) {
	if event < 0 || s.last() < event {
		return s.text, s.last()
	}
	n := 0
	for n < len(s.pieces) && s.pieces[n].event < event {
		n++
	}
	if n == 0 {
		return "", -1
	}
	return join(s.pieces[:n]), s.pieces[n-1].event
}

// unreachedBy words how far the goal was by the event.
func (r *run) unreachedBy(event int) string {
	for i := range slices.Backward(r.works) {
		if w := &r.works[i]; w.tool == r.l.Goal && w.event < event {
			if !w.seen || w.shows() > event {
				return fmt.Sprintf("%s had not answered", w.tool)
			}
			return fmt.Sprintf("%s had answered %v", w.tool, w.class)
		}
	}
	return r.l.Goal + " had not been called"
}

// stopAfterGoal is: once the goal's tool has succeeded no further turn leads to a call,
// apart from the tools that may follow ("success then model continues: must remain 1",
// Testing Agent Tool-Call Retry Behavior). What was asked for in the same turn is
// brought to its end.
func (l *Loop) stopAfterGoal(p *Policy) Invariant {
	return l.runRule(p, "stop-after-goal", fmt.Sprintf("nothing is called after %s has succeeded", l.Goal), func(r *run) (v Verdict) {
		goal, event := r.reached()
		if event < 0 {
			return v
		}
		v.Applied++
		turn := -1
		if goal != nil && r.of(goal) != nil {
			turn = r.of(goal).turn
		}
		for i := range r.works {
			w := &r.works[i]
			if w.event < event || slices.Contains(l.AfterGoal, w.tool) {
				continue
			}
			if k := r.of(w); k != nil && k.turn <= turn {
				continue
			}
			v.report(r.a, fmt.Sprintf("%s was called after %s had succeeded", w.tool, l.Goal),
				"end the run, or offer the model no tools any more, once what the user wants is done", event, w.event)
			return v
		}
		return v
	})
}

// guardStop is: a run that ends while its model still wants calls is no success ("a
// guard stop is not success", rule 9 of the field collection).
func (l *Loop) guardStop(p *Policy) Invariant {
	return l.runRule(p, "guard-stop", "a run that a limit ends is no success", func(r *run) (v Verdict) {
		t := r.wanting()
		if t == nil || !r.a.Ended {
			return v
		}
		v.Applied++
		text := r.told(t.Answer)
		if r.succeeded() && (r.a.Reason == trace.ReasonSuccess || text == "" || l.claims(text)) {
			v.report(r.a, fmt.Sprintf("the run ended as a success while %s still waited for a call of %s", t.Model, t.Asks[0].Tool),
				"return an error, or say that it could not be finished, where a limit ends the run", t.Answer, r.a.EndEvent)
		}
		return v
	})
}

// wanting is the last turn of the run, where calls that it asked for were not done;
// nil: it wants nothing, or what it wanted was done.
func (r *run) wanting() *trace.Turn {
	for i := range slices.Backward(r.turns) {
		t := &r.turns[i]
		if t.Reply == nil || t.Next >= 0 || t.Layer != r.turns[0].Layer {
			continue
		}
		if len(t.Asks) == 0 {
			return nil
		}
		if r.l.Goal != "" {
			if _, event := r.reached(); event >= 0 {
				return nil
			}
			return t
		}
		for k := range t.Asks {
			if t.Asks[k].Tool == r.l.Final && parses(t.Asks[k].Args) {
				return nil
			}
		}
		for k := range t.Asks {
			if f, _ := r.fate(&wish{&t.Asks[k], i}); f != fateOK && f != fateDeclined {
				return t
			}
		}
		return nil
	}
	return nil
}

// failureTold is: a run in which something failed to the end says so, by an error, by
// its reason or in words ("a terminal message should say the action could not be
// completed", Testing Agent Tool-Call Retry Behavior; "the failure you should never
// allow is the one that escapes both layers", Retries, timeouts and failure handling).
func (l *Loop) failureTold(p *Policy) Invariant {
	return l.runRule(p, "failure-told", "a run that fails says so", func(r *run) (v Verdict) {
		event := r.undone()
		if event < 0 || !r.a.Ended {
			return v
		}
		v.Applied++
		if r.succeeded() && r.told(event) == "" && !holdsFalse(decoded(r.a.Result)) {
			v.report(r.a, "the run ended without an error and without a word to the user, and "+r.lacks(),
				"tell the user what could not be done, in words of the program's own where the model has none", event, r.a.EndEvent)
		}
		return v
	})
}

// holdsFalse reports whether a result has a field that says no, as {"done":false} does.
func holdsFalse(value any) bool {
	switch v := value.(type) {
	case bool:
		return !v
	case map[string]any:
		for _, field := range v {
			if holdsFalse(field) {
				return true
			}
		}
	}
	return false
}

// undone is the event of the failure that the run ends with, or of the last turn of a
// run that did not reach its goal; -1: it ends with none.
func (r *run) undone() int {
	if r.l.Goal != "" {
		if _, event := r.reached(); event >= 0 {
			return -1
		}
	}
	for i := range slices.Backward(r.asks) {
		f, event := r.fate(&r.asks[i])
		if f == fateFailed {
			return event
		}
		if f != fateOpen {
			break
		}
	}
	if n := len(r.turns); r.l.Goal != "" && n > 0 {
		calls := r.turns[n-1].Calls
		return calls[len(calls)-1]
	}
	return -1
}

// lacks words what was not done.
func (r *run) lacks() string {
	if r.l.Goal != "" {
		return r.unreachedBy(r.a.EndEvent)
	}
	return "its last call had failed"
}

// evidenceFirst is: what only a tool's success can hold is in no text for the user
// before it ("no tool result invented", Testing Agent Tool-Call Retry Behavior).
func (l *Loop) evidenceFirst(p *Policy) Invariant {
	return l.runRule(p, "evidence-first", "what a tool answers is not told before it has answered", func(r *run) (v Verdict) {
		if len(r.spoken) == 0 {
			return v
		}
		for _, text := range l.Evidence {
			had := r.firstWith(text)
			for i := range r.spoken {
				v.Applied++
				if early, event := r.spoken[i].before(had); strings.Contains(early, text) {
					v.report(r.a, fmt.Sprintf("the user was told %q, which no tool had answered", text),
						"take what is told from the answers of tools, and check the words of the model against them", event)
					return v
				}
			}
		}
		return v
	})
}

// firstWith is the first successful answer of the run that holds the text; -1: none.
func (r *run) firstWith(text string) int {
	for i := range r.works {
		w := &r.works[i]
		if w.seen && (w.class == trace.OK || w.class == trace.Partial) && w.answer >= 0 && strings.Contains(valuesOf(r.tr.Events[w.answer].Result), text) {
			return w.answer
		}
	}
	for _, i := range r.a.Hits {
		if e := &r.tr.Events[i]; e.Outcome.Class == trace.OK && strings.Contains(valuesOf(e.Result), text) {
			return i
		}
	}
	return -1
}
