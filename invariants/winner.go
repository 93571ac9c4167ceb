package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// DeclaredWinner is: where a tool ignores the caller's cancel and succeeds after
// it, the event decides that the policy's Winner names, and what is published
// says the same as what is returned (article: testing agent tool-call retry
// behavior; field case F044). It does not apply to a policy that leaves it open,
// nor to a success at the instant of the cancel or before it.
func DeclaredWinner(p Policy) Invariant {
	return rule("declared-winner", fmt.Sprintf("of a cancel and a success behind it, the %s wins", p.Winner),
		func(tr *trace.Trace, a *trace.Action) (v Verdict) {
			if p.Winner == WinnerEither || !a.Cancelled() || !a.Ended || a.End < a.Cancel {
				return v
			}
			at := lateSuccess(a)
			if at == nil {
				return v
			}
			v.Applied++
			success := a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess)
			switch published := publishedAs(tr, a); {
			case p.Winner == WinnerSuccess && !success:
				v.report(a, fmt.Sprintf("%s succeeded %v after the cancel, and the action ended with %q; the policy lets the success win", at.Tool, at.Answered-a.Cancel, short([]byte(a.Error))),
					"wait for the answer of an attempt that does not end at the cancel, and use it", a.CancelAt, at.AnswerEvent, a.EndEvent)
			case p.Winner == WinnerCancel && success:
				v.report(a, fmt.Sprintf("%s succeeded %v after the cancel, and the action ended as a success; the policy lets the cancel win", at.Tool, at.Answered-a.Cancel),
					"look at the caller's context when an answer comes, before it is used", a.CancelAt, at.AnswerEvent, a.EndEvent)
			case published != 0 && (published == trace.ReasonSuccess) != success:
				v.report(a, fmt.Sprintf("the action published %v and returned something else", published),
					"decide once which event wins, and let all that tells of the end go by it", a.Published[0], a.EndEvent)
			}
			return v
		})
}

// lateSuccess is an attempt that began before the cancel and was answered with a
// success after it; nil: there is none.
func lateSuccess(a *trace.Action) *trace.Attempt {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Begin <= a.Cancel && at.AnswerEvent >= 0 && at.Answered > a.Cancel && at.Answer.Class == trace.OK && (at.Deadline == 0 || at.Deadline > at.Answered) {
			return at
		}
	}
	return nil
}

// publishedAs is the only terminal that was published; 0: there is none, or not
// one only, which is the business of [OneTerminal].
func publishedAs(tr *trace.Trace, a *trace.Action) trace.Reason {
	if len(a.Published) != 1 {
		return 0
	}
	return tr.Events[a.Published[0]].Reason
}
