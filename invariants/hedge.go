package invariants

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Hedge lets attempts of one action overlap: where one takes long, another
// begins beside it, and the first success wins (Dean and Barroso, "The Tail at
// Scale", CACM 2013; hedgingPolicy of gRFC A6). The zero Hedge allows none, and
// overlapping attempts are findings of [NoOverlap].
//
// Every hedge counts as an attempt, as in gRFC A6. A write is hedged with a key
// only.
type Hedge struct {
	// After is how long the latest attempt has been under way, at least, before
	// another begins beside it.
	After time.Duration

	// Max is how many attempts may be under way at once, the first included.
	// 0 and 1: no hedging.
	Max int
}

// on reports whether hedging is declared.
func (h Hedge) on() bool { return h.Max > 1 }

func (v *validator) hedge(p *Policy) {
	h := p.Hedge
	v.want(h.Max >= 0, "Hedge.Max", "is %d: say 0 for no hedging", h.Max)
	v.want(h.on() || h.After == 0, "Hedge.After", "is %v while Max is %d: say how many attempts may be under way at once, or clear After", h.After, h.Max)
	v.want(!h.on() || h.After > 0, "Hedge.After", "is %v: say how long an attempt is under way before another begins beside it", h.After)
	v.want(!h.on() || p.MaxAttempts == Unlimited || h.Max <= p.MaxAttempts, "Hedge.Max", "is %d, and MaxAttempts is %d: a hedge is an attempt too; lower Max or raise MaxAttempts", h.Max, p.MaxAttempts)
	v.want(!h.on() || p.Repeatable || p.Key != "", "Hedge", "lets a write be under way twice, and there is no Key: set Key, or Repeatable for a read")
	v.want(!h.on() || p.Attempt == 0 || h.After < p.Attempt, "Hedge.After", "is %v, and an attempt has %v: another one beside it would never begin; lower After", h.After, p.Attempt)
}

// overlap reports whether the attempt at began while the earlier one was under
// way: not answered, in a context that had not ended.
func overlap(before, at *trace.Attempt) bool {
	if before.Lost || before.Deadline != 0 && before.Deadline <= at.Begin {
		return false // a crash, or its deadline, has ended it
	}
	tie := before.End == at.Begin && before.Interrupted == 0 && before.AnswerEvent > at.Event
	return !before.Seen || before.End > at.Begin || tie
}

// besides lists the earlier attempts of the series that were under way when
// attempt i began.
func besides(s *trace.Series, i int) (list []*trace.Attempt) {
	at := &s.Attempts[i]
	for j := range s.Attempts[:i] {
		if b := &s.Attempts[j]; overlap(b, at) && trace.SameArgs(b.Args, at.Args) {
			list = append(list, b)
		}
	}
	return list
}

// NoOverlap is: no attempt begins while an earlier one of its series is under
// way in a context that lives. A program that stops waiting must end the attempt
// that it leaves, or the tool works twice at once (field case F031).
func NoOverlap() Invariant {
	return seriesRule("no-overlap", "attempts of one action at one tool do not overlap",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := 1; i < len(s.Attempts); i++ {
				at, before := &s.Attempts[i], &s.Attempts[i-1]
				if at.Items != "" || a.Ended && at.Event > a.EndEvent {
					return v
				}
				v.Applied = 1
				if before.Seen && before.End == at.Begin && ended(before.Outcome.Class) {
					continue // its context was ended at that instant, and the order of the two is chance
				}
				if overlap(before, at) && trace.SameArgs(before.Args, at.Args) {
					v.report(a, fmt.Sprintf("attempt %d of %s began while attempt %d was under way, in a context that had not ended", at.N, at.Tool, before.N),
						"cancel the context of the attempt that is left before the next one begins, or declare Hedge", before.Event, at.Event)
					return v
				}
			}
			return v
		})
}

// Hedged is: hedges are those that the policy declares. No more than Hedge.Max
// attempts of a series are under way at once, none begins beside another before
// that has taken Hedge.After, and at the first success the others are cancelled.
func Hedged(p Policy) Invariant {
	return seriesRule("hedged", fmt.Sprintf("at most %d attempts are under way at once, %v apart, and the first success ends the others", p.Hedge.Max, p.Hedge.After),
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := 1; i < len(s.Attempts); i++ {
				at := &s.Attempts[i]
				if a.Ended && at.Event > a.EndEvent {
					return v
				}
				under := besides(s, i)
				if len(under) == 0 {
					continue
				}
				v.Applied++
				latest := under[len(under)-1]
				switch took := at.Begin - latest.Begin; {
				case len(under) >= p.Hedge.Max:
					v.report(a, fmt.Sprintf("%d attempts of %s were under way at once, the policy allows %d", len(under)+1, at.Tool, p.Hedge.Max),
						"count the attempts that are under way before another begins", append(events(s.Attempts[i:i+1]), latest.Event)...)
					return v
				case took < p.Hedge.After:
					v.report(a, fmt.Sprintf("attempt %d of %s began %v after attempt %d, which was under way; the policy hedges after %v", at.N, at.Tool, took, latest.N, p.Hedge.After),
						"wait for Hedge.After from the begin of the latest attempt on", latest.Event, at.Event)
					return v
				}
			}
			v.losers(a, s)
			return v
		})
}

// losers finds an attempt that works on when another has succeeded.
func (v *Verdict) losers(a *trace.Action, s *trace.Series) {
	var won *trace.Attempt
	for i := range s.Attempts {
		if at := &s.Attempts[i]; at.Seen && at.Outcome.Class == trace.OK && (won == nil || at.End < won.End) {
			won = at
		}
	}
	if won == nil {
		return
	}
	for i := range s.Attempts {
		if at := &s.Attempts[i]; at != won && at.Event < won.AnswerEvent && (!at.Seen || at.End > won.End) {
			v.Applied++
			v.report(a, fmt.Sprintf("attempt %d of %s worked on when attempt %d had answered", at.N, at.Tool, won.N),
				"cancel the contexts of the others with the first success", won.AnswerEvent, at.Event)
			return
		}
	}
}

// hedges reports whether another attempt of the series ran beside attempt i. A
// hedge that is answered at once cancels the one before it at the instant at
// which it began itself.
func hedges(s *trace.Series, i int) bool {
	beside := func(before, at *trace.Attempt) bool {
		return overlap(before, at) || before.Interrupted != 0 && before.End == at.Begin
	}
	at := &s.Attempts[i]
	for j := range s.Attempts {
		b := &s.Attempts[j]
		if j < i && beside(b, at) || j > i && beside(at, b) {
			return true
		}
	}
	return false
}

// lastRound reports whether the call was under way together with the last
// attempt of the series, so that either's error may be the last one.
func lastRound(s *trace.Series, last int, call int) bool {
	for i := range s.Attempts[:last+1] {
		if at := &s.Attempts[i]; at.Call == call {
			return overlap(at, &s.Attempts[last])
		}
	}
	return false
}
