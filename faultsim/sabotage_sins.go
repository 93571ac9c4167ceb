package faultsim

import (
	"context"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A sin is one thing that the stage does in the place of code that is right. It
// is committed in one step: in place of a call, behind an answer, at the end of
// an action, at a publication, or in what is handed on.
type sin struct {
	name  string
	does  string // what the code would have done, in the past tense
	needs string // the occasion for it
	eye   string // what would see it

	acting bool // it is none of a loop: what the end of a run comes to is not its tool's answer

	before func(*visit) bool          // whether a call is an occasion
	seen   func(*visit, reply) bool   // or was one, which shows behind it
	send   func(*visit) (reply, bool) // makes the call; false: nothing came of it

	after func(*visit, reply) bool
	again func(*visit, reply) (reply, bool)
	later bool // whether something came of it shows at the end of the action

	leaving func(*exit) bool
	leave   func(*exit)

	publish func(*Stage, context.Context, trace.Reason) bool // whether the code's own is recorded
	second  bool                                             // at a second publication, not at the first

	observe func(*Adapter, any) (any, bool)
}

// sinsOf are the sins that the adapter's code can commit.
func sinsOf(a *Adapter) []*sin {
	return slices.DeleteFunc(sins(), func(k *sin) bool { return k.acting && a.Loop != nil })
}

// sins are all sins, in the order of an action's course.
func sins() []*sin {
	return slices.Concat(startingSins(), callingSins(), waitingSins(), attemptSins(), argumentSins(), cancelSins(), endingSins(), tellingSins())
}

// startingSins are those at the begin of an action.
func startingSins() []*sin {
	return []*sin{
		{
			acting: true,
			name:   "waits-first", does: "waited before the first attempt",
			needs: "an action that calls a tool as it begins",
			eye:   "a judge that looks at the instant of the first attempt, as NoFirstDelay does",
			before: func(c *visit) bool {
				return c.stint.calls == 0 && !c.stint.murky && now() == c.stint.begin && c.stint.room(2*moment)
			},
			send: func(c *visit) (reply, bool) {
				if !lasts(c.stint.ctx, moment) {
					return c.call(c.ctx, asIs), false
				}
				ctx, cancel := c.fresh()
				defer cancel()
				return c.call(ctx, asIs), true
			},
		},
		{
			name: "calls-on-a-dead-context", does: "called the tool although its context was over before it began",
			needs:   "an action whose caller has cancelled before it begins, and a tool that is a function",
			eye:     "a judge that looks at attempts behind the cancel, as NoCallOnDeadContext does",
			leaving: func(e *exit) bool { return e.st.a.plan.Cancel < 0 && e.st.calls == 0 && len(e.v.offers) > 0 },
			leave:   func(e *exit) { e.v.offers[0].within(e.st.ctx, e.v.a) },
		},
	}
}

// moment is a wait that nobody asked for.
const moment = 50 * time.Millisecond

// callingSins are further calls that the policy forbids.
func callingSins() []*sin {
	further := func(name, does, needs, eye string, due func(*visit) bool) *sin {
		return &sin{
			name: name, does: does, needs: needs, eye: eye,
			after: func(c *visit, r reply) bool {
				return c.clear() && c.lane.d.Do == invariants.Stop && !c.mends() && due(c) && c.plain(0) && c.stint.room(c.wait())
			},
			again: func(c *visit, r reply) (reply, bool) {
				again, done := c.goOn(c.wait())
				if !done {
					return r, false
				}
				return again, true
			},
		}
	}
	because := func(reasons ...trace.Reason) func(*visit) bool {
		return func(c *visit) bool { return slices.Contains(reasons, c.lane.d.Reason) }
	}
	return []*sin{
		further("one-attempt-too-many", "called once more when the attempts were used up",
			"an action whose attempts are used up by failures that are retried", "Policy.MaxAttempts",
			because(trace.ReasonExhausted)),
		further("refusal-retried", "called again after a refusal",
			"a failure that the policy does not retry", "Policy.Retry, without the class of the failure",
			func(c *visit) bool {
				return !c.lane.p.Retries(c.lane.o.Class) && c.lane.o.Class != trace.OK && !c.heeds() && !c.doubtful()
			}),
		further("final-word-unheeded", "called again although the failure itself said not to",
			"a failure of a retried class that says not to be repeated", "Policy.Advice",
			func(c *visit) bool { return c.lane.p.Retries(c.lane.o.Class) && c.heeds() }),
		further("blind-repeat", "repeated a write of which it was not known whether it was done",
			"an unknown outcome of a write that has no key and is not repeatable", "Policy.Repeatable false, and no Key",
			func(c *visit) bool { return c.doubtful() && !c.heeds() }),
		further("long-hint-cut", "waited for the limit only and called again, where the tool had asked for longer",
			"a hint above Hint.Limit, which ends an action", "Policy.Hint.Limit",
			because(trace.ReasonHintTooLong)),
		further("budget-overrun", "called again when the budget left no room for it",
			"failures that use a budget up", "Policy.Budget, or Policy.Spend with Policy.Price",
			because(trace.ReasonBudget)),
		{
			name: "repeats-a-success", does: "called again with the same arguments after a success",
			needs: "an action that succeeds", eye: "a judge that counts the attempts, as StopAfterSuccess does",
			after: func(c *visit, r reply) bool {
				return c.clear() && c.lane.d.Reason == trace.ReasonSuccess && c.plain(0)
			},
			again: func(c *visit, r reply) (reply, bool) {
				_, done := c.goOn(0)
				return r, done
			},
		},
		{
			name: "same-credential-again", does: "sent a refused credential once more, before it fetched another",
			needs: "an unauthenticated answer under Policy.Refresh", eye: "Policy.Refresh.Credential",
			after: func(c *visit, r reply) bool {
				return c.clear() && c.lane.p.Refresh.Once && r.o.Class == trace.Unauthenticated
			},
			again: repeatsFirst,
		},
		{
			name: "rejected-arguments-again", does: "sent rejected arguments once more, before it corrected them",
			needs: "an invalid answer under Policy.Correct", eye: "Policy.Correct",
			after: func(c *visit, r reply) bool {
				return c.clear() && c.lane.p.Correct.Once && r.o.Class == trace.Invalid && c.s.definitions[c.t.name] != nil
			},
			again: repeatsFirst,
		},
		{
			name: "repeats-without-asking", does: "repeated an unknown outcome without asking what became of it",
			needs: "an unknown outcome under Policy.Reconcile", eye: "Policy.Reconcile",
			after: func(c *visit, r reply) bool {
				return c.clear() && c.lane.p.Reconcile && c.lane.d.Do == invariants.Go &&
					c.lane.p.Effect(r.o) == trace.EffectUnknown && c.plain(0) && c.stint.room(c.wait())
			},
			again: func(c *visit, r reply) (reply, bool) { return orElse(r)(c.goOn(c.wait())) },
		},
		{
			name: "turns-to-another-tool", does: "called a tool that it may not call, when its own had failed",
			needs: "a failed action, and a tool that is a function and not in Adapter.Allowed", eye: "Adapter.Allowed",
			leaving: func(e *exit) bool { return e.err != nil && e.st.ctx.Err() == nil && e.forbidden() != nil },
			leave:   func(e *exit) { e.forbidden().within(e.st.ctx, e.v.a) },
		},
		refused("goes-past-the-breaker", "called the tool although its breaker refused", "Adapter.Breaker",
			"an action that its breaker refuses, after one that has called the tool", trace.ReasonBreakerOpen),
		refused("overdraws-the-allowance", "called the tool although nothing was left of what actions share", "Adapter.Allowance",
			"an action for which nothing is left, after one that has called the tool", trace.ReasonBudget),
		refused("works-on-after-handing-over", "called the tool although the turn had been handed on", "Adapter.EscalatesAfter",
			"an action behind the hand-over, after one that has called the tool", trace.ReasonEscalated),
	}
}

// refused is a call at the end of an action that made none and says why: that of an
// earlier action, with a key of its own where the tool has keys.
func refused(name, does, eye, needs string, why trace.Reason) *sin {
	return &sin{
		name: name, does: does, needs: needs, eye: eye,
		leaving: func(e *exit) bool {
			c := e.v.latest
			if c == nil || e.st.calls > 0 || e.st.ctx.Err() != nil || e.reason() != why {
				return false
			}
			c.stint, c.lane = e.st, &lane{tool: c.t.name, p: c.lane.p}
			return c.plain(0) && c.can(c.asNew())
		},
		leave: func(e *exit) { e.v.latest.call(e.st.ctx, e.v.latest.asNew()) },
	}
}

// asNew is the change that makes the call one of another action.
func (c *visit) asNew() change {
	if c.lane.p.Key == "" {
		return asIs
	}
	return freshKey
}

// reason is what the code says of its end; 0: nothing.
func (e *exit) reason() trace.Reason {
	switch a := e.v.a; {
	case e.err != nil && a.Reason != nil:
		return a.Reason(e.err)
	case e.err == nil && a.Degraded != nil:
		return a.Degraded(e.out)
	}
	return 0
}

// repeatsFirst makes the same call once more and goes by the first answer.
func repeatsFirst(c *visit, r reply) (reply, bool) {
	_, done := c.goOn(0)
	return r, done
}

// orElse takes a further answer, and the first one where there is none.
func orElse(first reply) func(reply, bool) (reply, bool) {
	return func(further reply, done bool) (reply, bool) {
		if !done {
			return first, false
		}
		return further, true
	}
}

// heeds reports whether the failure itself says what ends the series.
func (c *visit) heeds() bool {
	return c.lane.o.Advice == trace.AdviceStop && c.lane.p.Advice != invariants.AdviceIgnored
}

// doubtful reports whether the series ends because nobody knows what was done.
func (c *visit) doubtful() bool { return c.lane.d.Reason == trace.ReasonOutcomeUnknown }

// forbidden is a tool that the action may not call; nil: there is none.
func (e *exit) forbidden() *offer {
	if len(e.v.a.Allowed) == 0 {
		return nil
	}
	i := slices.IndexFunc(e.v.offers, func(o offer) bool { return !slices.Contains(e.v.a.Allowed, o.tool) })
	if i < 0 {
		return nil
	}
	return &e.v.offers[i]
}

// waitingSins are waits that are too short or too long, and attempts that are
// missing.
func waitingSins() []*sin {
	retries := func(c *visit) bool { return c.clear() && c.lane.d.Do == invariants.Go && !c.mends() }
	return []*sin{
		{
			name: "wait-cut-short", does: "waited half of the shortest wait",
			needs: "a wait before an attempt that succeeds", eye: "Policy.Backoff",
			after: func(c *visit, r reply) bool {
				return retries(c) && !c.lane.d.Hinted && c.lane.d.Lo > 1 && c.plain(0) && c.stint.room(c.lane.d.Lo)
			},
			again: func(c *visit, r reply) (reply, bool) { return orElse(r)(c.goOn(c.lane.d.Lo / 2)) },
		},
		{
			name: "wait-stretched", does: "waited half as long again as the longest wait, and a second",
			needs: "a wait before an attempt", eye: "Policy.Backoff",
			before: func(c *visit) bool {
				l := c.lane
				return c.clear() && l.open && l.d.Do == invariants.Go && !c.mends() && l.d.Hi < time.Hour && c.stint.room(l.at+stretched(l.d.Hi)-now())
			},
			send: func(c *visit) (reply, bool) {
				if !lasts(c.stint.ctx, c.lane.at+stretched(c.lane.d.Hi)-now()) {
					return c.call(c.ctx, asIs), false
				}
				ctx, cancel := c.fresh()
				defer cancel()
				return c.call(ctx, asIs), true
			},
		},
		{
			name: "hint-ignored", does: "came back after its own wait, where the tool had asked for longer",
			needs: "a hint that is longer than the own wait, before an attempt that succeeds", eye: "Policy.Hint, whose Use must not be HintIgnore",
			after: func(c *visit, r reply) bool {
				return retries(c) && c.lane.d.Hinted && c.unhinted() < c.lane.d.Lo && c.plain(0) && c.stint.room(c.lane.d.Lo)
			},
			again: func(c *visit, r reply) (reply, bool) { return orElse(r)(c.goOn(c.unhinted())) },
		},
		{
			acting: true,
			name:   "gives-up-early", does: "ended with the failure while attempts were left",
			needs: "a failure that is to be retried", eye: "Policy.Retry and Policy.MaxAttempts, by which Conforms counts",
			after: func(c *visit, r reply) bool {
				return retries(c) && c.lane.d.Lo > 0 && c.stint.room(c.lane.d.Hi) && r.failure(c.t.name) != nil
			},
			later: true,
			again: func(c *visit, r reply) (reply, bool) {
				c.v.mu.Lock()
				c.stint.why, c.stint.left = r.failure(c.t.name), now()
				c.v.mu.Unlock()
				c.stint.leave()
				return r, false
			},
		},
	}
}

// stretched is longer than the longest wait.
func stretched(hi time.Duration) time.Duration { return hi + hi/2 + time.Second }

// unhinted is the shortest wait after the latest answer, had it no hint.
func (c *visit) unhinted() time.Duration {
	auto, o := c.lane.before, c.lane.o
	o.Hint, o.Slack = 0, 0
	return auto.Next(o, c.lane.at).Lo
}

// attemptSins are those of a single attempt and its context.
func attemptSins() []*sin {
	return []*sin{
		{
			name: "attempt-without-a-limit", does: "gave an attempt no time limit of its own",
			needs: "an attempt that the code limits by its context, as Policy.Attempt says", eye: "Policy.Attempt",
			before: func(c *visit) bool { return c.lane.p.Attempt > 0 && c.given > 0 && c.fleeting() },
			send:   func(c *visit) (reply, bool) { return c.call(lent{c.stint.ctx, c.ctx}, asIs), true },
		},
		{
			name: "attempt-cut-short", does: "gave an attempt half of its time",
			needs: "an attempt that the code limits by its context, as Policy.Attempt says", eye: "Policy.Attempt",
			before: func(c *visit) bool {
				return c.lane.p.Attempt > 0 && c.given >= c.lane.p.Attempt && c.fleeting() && !c.waited() && c.stint.room(c.lane.p.Attempt) && c.lane.p.Budget == 0
			},
			send: func(c *visit) (reply, bool) {
				ctx, cancel := context.WithTimeout(c.ctx, c.given/2)
				defer cancel()
				return c.call(ctx, asIs), true
			},
		},
		{
			name: "deadline-kept-from-the-tool", does: "gave the tool a context without the caller's deadline",
			needs: "an attempt that the caller's deadline bounds", eye: "a judge that looks at the deadline of each attempt, as WithinDeadline does",
			before: func(c *visit) bool { return c.stint.deadline() > 0 && c.given == 0 && c.stint.ctx.Err() == nil },
			send:   func(c *visit) (reply, bool) { return c.call(undated{c.ctx}, asIs), true },
		},
		{
			name: "impatient-repeat", does: "called again while the attempt before was still under way",
			needs: "an answer that takes its time, and is not retried", eye: "a judge that looks at overlapping attempts, as NoOverlap does",
			before: func(c *visit) bool {
				f := c.planned(c.lane.calls + 1)
				slow := Fault{Class: f.Class, Latency: f.Latency}
				return c.clear() && f.Latency > 1 && !c.lane.p.Retries(f.class()) && f == slow && c.plain(1) && c.stint.room(f.Latency) && (c.given == 0 || f.Latency < c.given)
			},
			send: func(c *visit) (reply, bool) {
				first := make(chan reply, 1)
				latency := c.planned(c.lane.calls + 1).Latency
				go func() { first <- c.call(c.ctx, asIs) }()
				_, done := c.goOn(latency / 2)
				return <-first, done
			},
		},
	}
}

// waited reports whether the code has waited so long for the attempt that an
// attempt which counts the wait in could have as little left as one cut in half.
func (c *visit) waited() bool { return now()-max(c.lane.at, c.stint.begin) >= c.given/2 }

// fleeting reports whether the tool answers the attempt that is about to be made at once.
func (c *visit) fleeting() bool {
	f := c.planned(c.lane.calls + 1)
	return !c.stint.murky && c.stint.ctx.Err() == nil && !f.Hang && f.Latency == 0 && f.Body == 0 && !c.disturbed()
}

// undated is a context that does not tell when it ends.
type undated struct{ context.Context }

func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// argumentSins are those of the arguments of a repeat.
func argumentSins() []*sin {
	repeat := func(name, does, needs, eye string, ch change) *sin {
		return &sin{
			name: name, does: does, needs: needs, eye: eye,
			before: func(c *visit) bool {
				return c.clear() && c.lane.open && !c.disturbed() && !c.mends() && c.can(ch)
			},
			send: func(c *visit) (reply, bool) { r := c.call(c.ctx, ch); return r, r.ok },
		}
	}
	return []*sin{
		repeat("argument-changed", "sent a repeat with another argument",
			"a repeat that has arguments", "a judge that compares the arguments, as SameArguments does", argument),
		repeat("fresh-key", "sent a repeat with another key",
			"a repeat that carries a key, in Policy.Key or in the header Idempotency-Key", "Policy.Key", freshKey),
		repeat("key-lost", "sent a repeat without its key",
			"a repeat that carries a key, in Policy.Key or in the header Idempotency-Key", "Policy.Key", keyLost),
	}
}

// cancelSins are those of the end of the caller's context.
func cancelSins() []*sin {
	behind := func(name, does, needs, eye string, why error) *sin {
		return &sin{
			name: name, does: does, needs: needs, eye: eye,
			leaving: func(e *exit) bool {
				return e.st.ctx.Err() == why && e.st.latest != nil && e.st.busy == 0 && e.st.latest.plain(0) && now() > e.st.begin
			},
			leave: func(e *exit) {
				time.Sleep(time.Millisecond)
				e.st.latest.detached()
			},
		}
	}
	slow := func(name, does, needs, eye string, why error) *sin {
		return &sin{
			acting: true,
			name:   name, does: does, needs: needs, eye: eye,
			leaving: func(e *exit) bool {
				return e.st.ctx.Err() == why && e.err != nil && now() == e.st.over() && !e.s.policy.Reconcile // which may take its time
			},
			leave: func(e *exit) { time.Sleep(moment) },
		}
	}
	return []*sin{
		behind("calls-after-the-cancel", "called the tool once more after the caller had cancelled",
			"a cancel in the course of an action", "a judge that looks at attempts behind the cancel, as NoAttemptAfterCancel does", context.Canceled),
		behind("calls-after-the-deadline", "called the tool once more after the caller's deadline",
			"a deadline that ends an action", "a judge that looks at attempts behind the deadline, as WithinDeadline does", context.DeadlineExceeded),
		slow("sleeps-through-the-cancel", "returned some time after the caller had cancelled",
			"a cancel that ends an action", "a judge that looks at the instant of the end, as EndsAtCancel does", context.Canceled),
		slow("sleeps-through-the-deadline", "returned some time after the caller's deadline",
			"a deadline that ends an action", "a judge that looks at the instant of the end, as Conforms does", context.DeadlineExceeded),
		{
			name: "cancel-kept-from-the-tool", does: "returned at the cancel and left the tool at work",
			needs: "a cancel while a tool is at work, that it would heed", eye: "a judge that looks at calls that are under way at the end, as CancelReachesTool does",
			seen: func(c *visit, r reply) bool {
				return !c.stint.murky && c.stint.ctx.Err() == context.Canceled && r.o.Class == trace.Cancelled && c.lane.at > c.stint.begin && c.planned(c.lane.calls).Body == 0
			},
			send: func(c *visit) (reply, bool) {
				if c.planned(c.lane.calls+1).Body > 0 {
					return c.call(c.ctx, asIs), false // its answer has begun, and is not the tool's work
				}
				answer := make(chan reply, 1)
				ctx, cancel := c.untold()
				go func() { defer cancel(); answer <- c.call(ctx, asIs) }()
				select {
				case r := <-answer:
					return r, false
				case <-c.ctx.Done():
					if c.ctx.Err() != context.Canceled {
						return <-answer, false
					}
					return reply{err: c.ctx.Err(), o: trace.Outcome{Class: trace.Cancelled}, ok: true}, true
				}
			},
		},
	}
}

// untold is the context of the call without the caller's cancel.
func (c *visit) untold() (context.Context, context.CancelFunc) {
	if end, ok := c.ctx.Deadline(); ok {
		return context.WithDeadline(c.free(), end)
	}
	return context.WithCancel(c.free())
}

// over is the instant at which the caller's context ended.
func (st *stint) over() time.Duration {
	if st.ctx.Err() == context.DeadlineExceeded {
		return st.deadline()
	}
	return st.begin + max(st.a.plan.Cancel, 0)
}
