package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Choice is what the policy allows after an answer.
type Choice uint8

const (
	Stop   Choice = iota // no further attempt
	Go                   // a further attempt, within the window
	Either               // a further attempt within the window, or none
)

func (c Choice) String() string { return [...]string{"stop", "go", "either"}[c] }

// A Decision is what the policy allows after an answer. Waits are counted from
// the answer; the instants of the end are on the trace's time.
type Decision struct {
	Do           Choice
	Lo, Hi       time.Duration // shortest and longest wait before the next attempt; of Go and Either
	Reason       trace.Reason  // of the end; of Stop and Either
	EndLo, EndHi time.Duration // earliest and latest instant of the end; of Stop and Either
	Hinted       bool          // the tool's hint set the window
}

// A Series is the policy as an automaton: it follows one series of attempts
// and says after each answer what may come next. Start it with [Policy.Start].
type Series struct {
	p        *Policy
	begin    time.Duration
	deadline time.Duration
	cancel   time.Duration
	doomed   bool // there is a cancel
	attempts int  // answered so far
	failures int  // since the start, or since a hint that resets
	answered time.Duration
	waited   time.Duration
}

// Start begins a series: begin is the instant at which the action began, and
// deadline the instant at which the caller's context ends (0: never).
func (p *Policy) Start(begin, deadline time.Duration) Series {
	return Series{p: p, begin: begin, deadline: deadline}
}

// Cancel tells the series of the instant at which the caller cancels. A judge
// knows it in advance; the code under test does not.
func (s *Series) Cancel(at time.Duration) { s.cancel, s.doomed = at, true }

// Began tells the series that its next attempt began at the instant.
func (s *Series) Began(at time.Duration) {
	if s.attempts > 0 {
		s.waited = at - s.answered
	}
}

// Next says what the policy allows after the outcome o, seen at the instant at.
func (s *Series) Next(o trace.Outcome, at time.Duration) Decision {
	s.attempts++
	s.failures++
	s.answered = at
	if d, final := s.final(o, at); final {
		return d
	}
	w := s.p.window(s.failures, s.waited, o)
	if s.p.Hint.Resets && s.p.hint(o) > 0 {
		s.failures = 0
	}
	if w.over {
		return stop(trace.ReasonHintTooLong, at)
	}
	return s.fit(w, at)
}

// final is the decision where no further attempt can be legal.
func (s *Series) final(o trace.Outcome, at time.Duration) (Decision, bool) {
	switch {
	case o.Class == trace.OK:
		return stop(trace.ReasonSuccess, at), true
	case o.Class == trace.Declined:
		return stop(trace.ReasonDeclined, at), true
	case s.doomed && at >= s.cancel && ended(o.Class):
		return stop(trace.ReasonCancelled, at), true
	case s.deadline != 0 && at >= s.deadline && ended(o.Class):
		return stop(trace.ReasonDeadline, at), true
	case s.p.BudgetCuts && s.p.Budget > 0 && at >= s.begin+s.p.Budget && ended(o.Class):
		return stop(trace.ReasonBudget, at), true
	}
	class := o.Class
	if class == trace.Cancelled {
		class = trace.Timeout // the code under test ended its own attempt
	}
	if !s.p.Retries(class) {
		return stop(s.p.refusal(o), at), true
	}
	if s.p.MaxAttempts != Unlimited && s.attempts >= s.p.MaxAttempts {
		return stop(trace.ReasonExhausted, at), true
	}
	if !s.p.safe(o) {
		return stop(trace.ReasonOutcomeUnknown, at), true
	}
	return Decision{}, false
}

// ended reports whether the class says that the caller's side ended the attempt.
func ended(c trace.Class) bool { return c == trace.Timeout || c == trace.Cancelled }

// refusal is the terminal reason of a failure that is not retried.
func (p *Policy) refusal(o trace.Outcome) trace.Reason {
	switch o.Class {
	case trace.Invalid:
		return trace.ReasonNeedsInput
	case trace.Partial:
		return trace.ReasonPartial
	}
	if !p.safe(o) {
		return trace.ReasonOutcomeUnknown
	}
	return trace.ReasonRefused
}

func stop(r trace.Reason, at time.Duration) Decision {
	return Decision{Do: Stop, Reason: r, EndLo: at, EndHi: at}
}

// fit narrows a window to the time that is left before cancel, deadline and
// budget. A wait that ends at the very instant of a limit is a coin flip in
// any program, so both ways are legal there.
func (s *Series) fit(w wait, at time.Duration) Decision {
	d := Decision{Do: Go, Lo: w.lo, Hi: w.hi, Hinted: w.hinted}
	if s.deadline != 0 {
		reason := trace.ReasonDeadline
		if w.hinted && s.p.Late == LateStop {
			reason = trace.ReasonHintTooLong
		}
		d.limit(at, s.deadline, s.p.Late, reason)
	}
	if s.p.Budget > 0 {
		d.limit(at, s.begin+s.p.Budget, s.p.BudgetLate, trace.ReasonBudget)
	}
	if s.doomed {
		d.cancel(at, s.cancel)
	}
	return d
}

// limit applies one limit in time that the code under test knows in advance.
func (d *Decision) limit(at, limit time.Duration, late Late, reason trace.Reason) {
	left := limit - at
	if d.Do == Stop || d.Hi < left {
		return
	}
	end := at
	if late == LateWait {
		end = max(at, limit)
	}
	if d.Lo > left {
		*d = Decision{Do: Stop, Reason: reason, EndLo: at, EndHi: end, Hinted: d.Hinted}
		return
	}
	d.either(left, reason, at, end)
}

// cancel applies the caller's cancel, of which the code learns when it comes.
func (d *Decision) cancel(at, cancel time.Duration) {
	left := cancel - at
	if d.Do == Stop {
		// It may still be waiting for its limit when the cancel comes.
		if cancel > at && cancel <= d.EndHi {
			if cancel < d.EndHi {
				d.Reason = trace.ReasonCancelled
			}
			d.EndHi = cancel
			d.EndLo = min(d.EndLo, cancel)
		}
		return
	}
	if d.Hi < left {
		return
	}
	if d.Lo > left {
		*d = Decision{Do: Stop, Reason: trace.ReasonCancelled, EndLo: max(at, cancel), EndHi: max(at, cancel), Hinted: d.Hinted}
		return
	}
	d.either(left, trace.ReasonCancelled, max(at, cancel), max(at, cancel))
}

// either allows both ways and widens the window of the end.
func (d *Decision) either(left time.Duration, reason trace.Reason, lo, hi time.Duration) {
	d.Hi = min(d.Hi, left)
	if d.Do == Either {
		lo, hi = min(lo, d.EndLo), max(hi, d.EndHi)
	}
	d.Do, d.Reason, d.EndLo, d.EndHi = Either, reason, lo, hi
}
