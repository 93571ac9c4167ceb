package invariants_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// A mistake changes a right story into a wrong one. It returns false where the
// story gives no occasion for it. Caught names the invariant that must find it.
type mistake struct {
	name   string
	caught string
	make   func(s *story) bool
}

// calm reports whether no limit in time, and no hint, meets the story.
func (s *story) calm() bool {
	return s.deadline == 0 && s.cancel == 0 && s.p.Budget == 0 && s.reason != trace.ReasonHintTooLong
}

func (s *story) lastTry() *try { return &s.tries[len(s.tries)-1] }

// live reports whether the last attempt was over when the action ended, by its
// answer and not by the end of a context.
func (s *story) settled() bool {
	return !s.lastTry().interrupted && s.lastTry().seen == s.end && s.lastTry().limit != s.end
}

// more adds one attempt, by after the end.
func (s *story) more(by time.Duration) {
	a := s.tries[0]
	a.begin, a.limit, a.effects, a.interrupted = s.end+by, 0, 0, false
	a.seen, a.outcome = a.begin, trace.Outcome{Class: trace.OK}
	if s.deadline != 0 {
		a.limit = s.deadline
	}
	if s.p.Attempt > 0 && (a.limit == 0 || a.begin+s.p.Attempt < a.limit) {
		a.limit = a.begin + s.p.Attempt
	}
	s.tries = append(s.tries, a)
	s.end = a.begin
}

// shift moves everything from attempt n on by d.
func (s *story) shift(n int, d time.Duration) {
	for i := n; i < len(s.tries); i++ {
		a := &s.tries[i]
		a.begin, a.seen, a.answered = a.begin+d, a.seen+d, a.answered+d
		if a.limit != 0 {
			a.limit += d
		}
	}
	s.end += d
}

// gap finds an attempt after a plain, undisturbed answer.
func (s *story) gap(ok func(a *try) bool) int {
	for i := 1; i < len(s.tries); i++ {
		if a := &s.tries[i-1]; !a.interrupted && a.seen != a.limit && ok(a) {
			return i
		}
	}
	return 0
}

func (s *story) exact() bool {
	b := s.p.Backoff
	return b.Jitter == Jitter{} && (b.Factor == 0 || b.Factor == 1 || b.Factor == 2)
}

var mistakes = []mistake{
	{"an attempt more than the policy allows", "attempts-bounded", func(s *story) bool {
		if s.reason != trace.ReasonExhausted {
			return false
		}
		s.more(0)
		return true
	}},
	{"a retry of a refusal", "no-retry-after-refusal", func(s *story) bool {
		if s.reason != trace.ReasonRefused || !s.settled() {
			return false
		}
		s.more(0)
		return true
	}},
	{"a call after the success", "stop-after-success", func(s *story) bool {
		if s.reason != trace.ReasonSuccess || !s.settled() || s.reached() {
			return false
		}
		s.more(0)
		return true
	}},
	{"an attempt after the cancel", "no-attempt-after-cancel", func(s *story) bool {
		if s.reason != trace.ReasonCancelled {
			return false
		}
		s.more(1)
		return true
	}},
	{"an attempt after the deadline", "within-deadline", func(s *story) bool {
		if s.reason != trace.ReasonDeadline || s.end < s.deadline {
			return false
		}
		s.more(1)
		return true
	}},
	{"an attempt after the budget", "within-budget", func(s *story) bool {
		if s.reason != trace.ReasonBudget || s.end < s.p.Budget {
			return false
		}
		s.more(1)
		return true
	}},
	{"an attempt after a hint that is too long", "hint-honoured", func(s *story) bool {
		if s.reason != trace.ReasonHintTooLong || s.p.Hint.Over != OverStop || s.deadline != 0 || !s.settled() {
			return false
		}
		s.more(0)
		return true
	}},
	{"an attempt fewer", "conforms", func(s *story) bool {
		if !s.calm() || len(s.tries) < 2 || s.p.Attempt > 0 {
			return false
		}
		s.tries = s.tries[:len(s.tries)-1]
		s.end, s.err, s.said, s.result, s.cause, s.count = s.lastTry().seen, "gave up", 0, "", len(s.tries), len(s.tries)
		return true
	}},
	{"a wait that is a nanosecond short", "waits-in-window", func(s *story) bool {
		n := s.gap(func(a *try) bool { return !a.hinted && a.outcome.Hint == 0 && a.own > 0 })
		if n == 0 || !s.exact() || !s.calm() {
			return false
		}
		s.shift(n, -1)
		return true
	}},
	{"a wait that is a nanosecond long", "waits-in-window", func(s *story) bool {
		n := s.gap(func(a *try) bool { return !a.hinted && a.outcome.Hint == 0 })
		if n == 0 || !s.exact() || !s.calm() {
			return false
		}
		s.shift(n, 1)
		return true
	}},
	{"a wait over the widest window", "waits-in-window", func(s *story) bool {
		n := s.gap(func(a *try) bool { return !a.hinted && a.outcome.Hint == 0 })
		if n == 0 || s.p.Backoff.Jitter.Decorrelated || s.calm() == false {
			return false
		}
		a := s.tries[n-1]
		_, hi := s.p.Backoff.Window(1<<10, 0) // the cap, or nearly for ever
		if hi > time.Hour || len(s.p.Backoff.Delays) > 0 {
			return false
		}
		s.shift(n, a.seen+hi+1-s.tries[n].begin)
		return true
	}},
	{"no wait at all", "waits-in-window", func(s *story) bool {
		n := s.gap(func(a *try) bool { return !a.hinted && a.outcome.Hint == 0 && a.own > 0 })
		if n == 0 || s.p.Backoff.Jitter.Low == 0 && !s.exact() || s.p.Backoff.Base < 10 {
			return false
		}
		s.shift(n, s.tries[n-1].seen-s.tries[n].begin)
		return true
	}},
	{"the hint ignored", "hint-honoured", func(s *story) bool {
		n := s.gap(func(a *try) bool { return a.hinted && a.outcome.Hint > a.own && s.p.Hint.Limit == 0 })
		if n == 0 || s.p.Hint.Use != HintMax || s.cancel != 0 {
			return false
		}
		a := s.tries[n-1]
		s.shift(n, a.seen+a.own-s.tries[n].begin)
		return true
	}},
	{"the hint read as milliseconds (F009)", "hint-honoured", func(s *story) bool {
		n := s.gap(func(a *try) bool { return a.hinted && s.p.Hint.Limit == 0 && s.p.Hint.Use == HintReplace })
		if n == 0 || s.cancel != 0 {
			return false
		}
		a := s.tries[n-1]
		s.shift(n, a.seen+a.outcome.Hint/1000-s.tries[n].begin)
		return true
	}},
	{"other arguments on a retry", "same-arguments", func(s *story) bool {
		if len(s.tries) < 2 {
			return false
		}
		s.tries[1].args = `{"city":"Paris"}`
		return true
	}},
	{"a fresh key for each attempt", "one-key", func(s *story) bool {
		if s.p.Key == "" || len(s.tries) < 2 {
			return false
		}
		s.tries[1].key = "k2"
		return true
	}},
	{"no key", "one-key", func(s *story) bool {
		for i := range s.tries {
			s.tries[i].key = ""
		}
		return s.p.Key != ""
	}},
	{"a second effect", "one-effect", func(s *story) bool {
		if s.p.Repeatable && s.p.Key == "" {
			return false
		}
		s.tries[0].effects += 2
		return true
	}},
	{"a success made up", "honest-ending", func(s *story) bool {
		if s.reason == trace.ReasonSuccess || s.reason == trace.ReasonDeclined || s.lateSuccess() {
			return false
		}
		s.err, s.said, s.result, s.want = "", 0, `{"celsius":0}`, ""
		return true
	}},
	{"a result made up", "honest-ending", func(s *story) bool {
		s.result = `{"celsius":20}`
		return s.reason == trace.ReasonSuccess && !s.reached()
	}},
	{"a success shown as a failure (F024)", "honest-ending", func(s *story) bool {
		if s.reason != trace.ReasonSuccess || !s.settled() || s.overtaken() {
			return false
		}
		s.err, s.said, s.result = "failed", 0, ""
		return true
	}},
	{"the last error lost", "honest-ending", func(s *story) bool {
		s.cause = -1
		return s.err != "" && s.settled() && s.lastTry().outcome.Failed() && !s.overtaken()
	}},
	{"the error of the first attempt", "honest-ending", func(s *story) bool {
		s.cause = 1
		return s.err != "" && len(s.tries) > 1 && s.settled() && !s.overtaken()
	}},
	{"retries counted as attempts", "honest-ending", func(s *story) bool {
		s.count--
		return s.err != "" && s.count > 0
	}},
	{"a wait after the last attempt", "no-last-delay", func(s *story) bool {
		if !s.calm() {
			return false
		}
		s.end++
		return true
	}},
	{"a wait asked for after the last attempt", "no-last-delay", func(s *story) bool {
		s.extra = append(s.extra, trace.Event{Kind: trace.KindWait, Wait: time.Second})
		return s.calm()
	}},
	{"an end that comes late after the cancel", "ends-at-cancel", func(s *story) bool {
		if s.reason != trace.ReasonCancelled || s.cancel != s.end {
			return false
		}
		s.end++
		return s.lastTry().answered != s.end
	}},
	{"a wait before the first attempt", "no-first-delay", func(s *story) bool {
		s.shift(0, time.Millisecond)
		return s.calm()
	}},
	{"an attempt without the policy's time limit", "attempt-timeout", func(s *story) bool {
		s.tries[0].limit = 0
		return s.p.Attempt > 0
	}},
	{"a first attempt with less than its time", "whole-attempt", func(s *story) bool {
		first := &s.tries[0]
		if s.p.Attempt == 0 || first.limit != s.p.Attempt || first.answered >= first.limit-1 {
			return false
		}
		first.limit--
		return true
	}},
	{"an attempt with more time than is left", "within-deadline", func(s *story) bool {
		s.lastTry().limit = s.deadline + 1
		return s.deadline != 0
	}},
	{"a tool that never learns of the cancel", "cancel-reaches-tool", func(s *story) bool {
		a := s.lastTry()
		if s.reason != trace.ReasonCancelled || a.seen != s.cancel || a.outcome.Class != trace.Cancelled {
			return false
		}
		a.silent = true
		return a.begin < s.cancel
	}},
	{"an attempt by a goroutine that is left", "no-attempt-after-end", func(s *story) bool {
		s.tail = []trace.Event{
			{Kind: trace.KindCall, Call: 99, Tool: "weather", Key: s.tries[0].key, Args: []byte(s.tries[0].args)},
			{Kind: trace.KindAnswer, Call: 99, Tool: "weather", Outcome: trace.Outcome{Class: trace.OK}},
		}
		return true
	}},
	{"two ends published", "one-terminal", func(s *story) bool {
		s.extra = []trace.Event{{Kind: trace.KindPublish, Reason: trace.ReasonCancelled}, {Kind: trace.KindPublish, Reason: s.reason}}
		return true
	}},
	{"a goroutine left", "nothing-left", trouble(trace.KindLeak)},
	{"a hang", "returns", trouble(trace.KindHang)},
	{"a panic", "no-panic", trouble(trace.KindPanic)},
	{"a spin", "no-spin", trouble(trace.KindSpin)},
	{"a failure called by another name", "conforms", func(s *story) bool {
		s.said = trace.ReasonBreakerOpen
		return s.err != "" && s.settled()
	}},
}

func trouble(kind trace.Kind) func(*story) bool {
	return func(s *story) bool {
		s.tail = append(s.tail, trace.Event{Kind: kind, Error: "seen"})
		return true
	}
}

// overtaken reports whether the caller's time was over by the end.
func (s *story) overtaken() bool {
	return s.cancel != 0 && s.cancel <= s.end || s.deadline != 0 && s.deadline <= s.end || s.p.Budget > 0 && s.p.Budget <= s.end
}

// lateSuccess reports whether a deaf tool gave a valid answer in time to be taken.
func (s *story) lateSuccess() bool {
	return slices.ContainsFunc(s.tries, func(a try) bool {
		return a.interrupted && !a.answer.Failed() && a.answered <= s.end || !a.interrupted && !a.outcome.Failed()
	})
}

// Each mistake is found, in every right story that gives occasion for it, and
// found by the invariant that names it.
func TestEachMistakeIsFoundByItsInvariant(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			occasions := 0
			rapid.Check(t, func(t *rapid.T) {
				p := drawPolicy(t)
				s := simulate(p, drawPlan(t, p))
				if !m.make(&s) {
					return
				}
				occasions++
				tr := s.trace()
				found := Find(tr, p.Invariants()...)
				if !slices.ContainsFunc(found, func(f Finding) bool { return f.Invariant == m.caught }) {
					t.Fatalf("%s: %s said nothing; others: %v\n%s\npolicy %s", m.name, m.caught, found, tr.Timeline(), p.Content())
				}
			})
			if occasions == 0 {
				t.Error("no story gave occasion for the mistake: ask for more with -rapid.checks")
			}
		})
	}
}

// reached reports whether the success rests on an answer that says that the
// desired state is there, and not on a result.
func (s *story) reached() bool {
	return s.reason == trace.ReasonSuccess && s.lastTry().outcome.Failed()
}
