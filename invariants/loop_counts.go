package invariants

import (
	"fmt"
	"slices"
	"sort"

	"github.com/rehearse-go/rehearse/trace"
)

// turnsBounded is: a run has at most so many turns ("no more than N calls", Testing
// Agent Tool-Call Retry Behavior). Each agent's loop counts its own, and each model in it:
// one that sorts requests, or that stands in, is asked beside the loop's.
func (l *Loop) turnsBounded(p *Policy) Invariant {
	return l.runRule(p, "turns-bounded", fmt.Sprintf("a run has at most %d turns", l.Turns), func(r *run) (v Verdict) {
		type loop struct{ layer, model string }
		counts := map[loop]int{}
		for i := range r.turns {
			t := &r.turns[i]
			v.Applied = 1
			of := loop{t.Layer, t.Model}
			if counts[of]++; counts[of] > l.Turns {
				v.report(r.a, fmt.Sprintf("%s was asked for turn %d of the run, at most %d are allowed", t.Model, counts[of], l.Turns),
					"count turns in one place, failed ones included, and look at the count before the model is asked", t.Calls[0])
				return v
			}
		}
		return v
	})
}

// intentionBounded is: the same tool with the same arguments is reached so many
// times in a run at most, whoever asks ("a delegating agent may retry a child whose
// own tool loop already exhausted attempts", Testing Agent Tool-Call Retry Behavior;
// rule 10 of the field collection). Tasks for another agent count alike.
func (l *Loop) intentionBounded(p *Policy) Invariant {
	return l.runRule(p, "intention-bounded", fmt.Sprintf("one intention has at most %d attempts in a run, whoever asks for it", l.Intention), func(r *run) (v Verdict) {
		made := map[intention][]int{}
		for i := range r.works {
			w := &r.works[i]
			if w.at != nil && w.at.Items != "" {
				continue // of a batch the items count: see [MaxAttempts]
			}
			v.Applied = 1
			k := w.intention()
			if made[k] = append(made[k], w.event); len(made[k]) > l.Intention {
				v.report(r.a, fmt.Sprintf("%s was called %d times with the same arguments, at most %d are allowed in a run", w.tool, len(made[k]), l.Intention),
					"keep one count for a tool and its arguments over the whole run; that the model, or another agent, asks again does not begin it anew", made[k]...)
				return v
			}
		}
		return v
	})
}

// refusalFinal is: what was refused in one ask is not called again with the same
// arguments in a later one ("no retry after forbidden", Testing Agent Tool-Call
// Retry Behavior): the model may ask, and the answer is known. So is what may have
// been done already, where the policy has no way to repeat it safely. One that speaks of
// the state of things holds until another tool has succeeded.
func (l *Loop) refusalFinal(p *Policy) Invariant {
	return l.runRule(p, "refusal-final", "a call that was refused is not made again in the run, whoever asks for it", func(r *run) (v Verdict) {
		refused := map[intention]*work{}
		for i := range r.works {
			w := &r.works[i]
			k := w.intention()
			before := refused[k]
			switch {
			case before == nil:
			case r.changed(before, w): // what it was refused for may be there now
				delete(refused, k)
			case before.shows() < w.event && (before.ask != w.ask || r.thoughtBetween(before.shows(), w.event)):
				v.report(r.a, fmt.Sprintf("%s was called again with the same arguments, and had answered %v in an earlier ask", w.tool, before.class),
					"keep what was refused for the length of the run, and answer an ask for it from there", before.shows(), w.event)
				return v
			}
			if w.refused(r.p) {
				v.Applied++
				refused[k] = w
			}
		}
		return v
	})
}

// changed reports whether a refusal that speaks of the state of things may be out of date:
// another tool has succeeded since, as one that creates what was not found.
func (r *run) changed(before, w *work) bool {
	switch before.class {
	case trace.NotFound, trace.Conflict, trace.Declined:
	default:
		return false
	}
	return slices.ContainsFunc(r.works, func(o work) bool {
		return o.tool != before.tool && o.seen && o.class == trace.OK && o.shows() > before.shows() && o.shows() < w.event
	})
}

// thoughtBetween reports whether a model was asked between two events.
func (r *run) thoughtBetween(from, to int) bool {
	i := sort.Search(len(r.talks), func(i int) bool { return r.talks[i].event > from })
	for ; i < len(r.talks) && r.talks[i].event < to; i++ {
		if r.tr.Events[r.talks[i].event].Role == trace.RoleModel {
			return true
		}
	}
	return false
}

// failingBounded is: an intention fails so many times in a row at most, whether or
// not the tool was reached for it.
func (l *Loop) failingBounded(p *Policy) Invariant {
	return l.runRule(p, "failing-bounded", fmt.Sprintf("the same ask fails at most %d times in a row", l.Failing), func(r *run) (v Verdict) {
		rows := map[intention]*inRow{}
		for i := range r.asks {
			k := &r.asks[i]
			f, event := r.fate(k)
			row := rows[k.intention()]
			if row == nil {
				row = &inRow{turn: -1}
				rows[k.intention()] = row
			}
			row.count(l.Count, f, k.turn, event)
			if v.Applied = min(1, len(rows)); row.n > l.Failing {
				v.report(r.a, fmt.Sprintf("the same call of %s failed %d times in a row, at most %d are allowed", k.Tool, row.n, l.Failing),
					"count failures by tool and arguments, those included that never reached the tool, and end the run before the next one", row.events...)
				return v
			}
		}
		return v
	})
}

// An inRow is how many asks have failed in a row.
type inRow struct {
	n      int
	turn   int // the latest that counted
	good   int // the latest turn in which one succeeded, plus one
	events []int
}

func (w *inRow) count(by FailureCount, f fate, turn, event int) {
	switch {
	case f == fateOK:
		w.n, w.good, w.events = 0, turn+1, nil
	case f != fateFailed, w.good == turn+1: // beside a success: which came last is chance
	case by == CountTurns && w.n > 0 && w.turn == turn:
	default:
		w.n++
		w.turn, w.events = turn, append(w.events, event)
	}
}

// toolFailures is: a tool whose asks have failed so many times in a row is not
// called any more. Only its own success begins the count anew (field case F067:
// "budget resets on success only, never by absence"), and failures of one turn
// count as the contract says (F066).
func (l *Loop) toolFailures(p *Policy) Invariant {
	return l.runRule(p, "tool-failures-bounded", fmt.Sprintf("a tool that has failed %d times in a row is not called any more", l.PerTool), func(r *run) (v Verdict) {
		type key struct{ layer, tool string }
		rows := map[key]*inRow{}
		for i := range r.asks {
			k := &r.asks[i]
			at := key{r.turns[k.turn].Layer, k.Tool}
			row := rows[at]
			if row == nil {
				row = &inRow{turn: -1}
				rows[at] = row
			}
			if first := r.firstWork(k); row.n >= l.PerTool && row.turn != k.turn && first >= 0 {
				v.report(r.a, fmt.Sprintf("%s was called after %d of its asks in a row had failed, which is the most that is allowed", k.Tool, row.n),
					"keep the count of each tool over the run, begin it anew at a success of that tool only, and answer further asks without a call", append(row.events, first)...)
				v.Applied = 1
				return v
			}
			f, event := r.fate(k)
			if row.count(l.Count, f, k.turn, event); row.n >= l.PerTool {
				v.Applied = 1
			}
		}
		return v
	})
}

// firstWork is the event of the first call that was made for the ask; -1: none was.
func (r *run) firstWork(k *wish) int {
	first := -1
	r.each(k, func(w *work) {
		if first < 0 || w.event < first {
			first = w.event
		}
	})
	return first
}

// escalates is: once so many asks in a row have failed the run ends ("after two or
// three, stop the loop and escalate", Tool errors, retries and timeouts). A last
// word of the model, to which no tools are offered, is part of the end.
func (l *Loop) escalates(p *Policy) Invariant {
	return l.runRule(p, "failures-escalate", fmt.Sprintf("after %d failed asks in a row the run ends", l.EscalateAfter), func(r *run) (v Verdict) {
		rows := map[string]*inRow{}
		for i := range r.asks {
			k := &r.asks[i]
			t := &r.turns[k.turn]
			row := rows[t.Layer]
			if row == nil {
				row = &inRow{turn: -1}
				rows[t.Layer] = row
			}
			f, event := r.fate(k)
			row.count(l.Count, f, k.turn, event)
			if i+1 < len(r.asks) && r.asks[i+1].turn == k.turn || row.n < l.EscalateAfter {
				continue // the turn is not over
			}
			v.Applied = 1
			if next := r.turnAt(t.Next); next != nil && !r.closing(next) {
				v.report(r.a, fmt.Sprintf("%s was asked on after %d asks in a row had failed, and at %d the run ends", t.Model, row.n, l.EscalateAfter),
					"count the failures that the model has seen, look at the count before the next turn, and hand over to a person", append(row.events, t.Next)...)
				return v
			}
		}
		return v
	})
}

// turnAt is the turn that begins with the event; nil: none does.
func (r *run) turnAt(event int) *trace.Turn {
	for lo, hi := 0, len(r.turns); lo < hi; {
		mid := (lo + hi) / 2
		switch at := r.turns[mid].Calls[0]; {
		case at == event:
			return &r.turns[mid]
		case at < event:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// withinTokens is: no prompt is sent that does not fit into what is left of the
// run's tokens ("cost budgets must count failures", Testing Agent Tool-Call Retry
// Behavior). How long a reply gets is not known before.
func (l *Loop) withinTokens(p *Policy) Invariant {
	return l.runRule(p, "within-tokens", fmt.Sprintf("prompts and replies of a run have at most %d tokens, failures included", l.Tokens), func(r *run) (v Verdict) {
		used := 0
		for _, c := range r.talks {
			e := &r.tr.Events[c.event]
			if e.Role != trace.RoleModel || e.Prompt == nil || e.Prompt.Tokens == 0 && used == 0 {
				continue
			}
			v.Applied = 1
			if n := e.Prompt.Tokens; n > l.Tokens-used {
				v.report(r.a, fmt.Sprintf("%s was sent a prompt of %d tokens, and of %d for the run %d were used", e.Tool, n, l.Tokens, used),
					"add up prompts and replies, those of failed calls too, and look at what is left before the model is asked", c.event)
				return v
			}
			used += max(e.Prompt.Tokens, 0)
			if c.answer >= 0 && r.tr.Events[c.answer].Reply != nil {
				used += max(r.tr.Events[c.answer].Reply.Tokens, 0)
			}
		}
		return v
	})
}
