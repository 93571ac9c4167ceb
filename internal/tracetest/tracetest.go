// Package tracetest builds traces by hand, for tests that judge them.
//
// A script reads like the story of the action, and time moves only where the
// story says so:
//
//	tr := tracetest.New().
//		Begin("pay").
//		Call("bank", `{"n":7}`).Answer(trace.Transient).
//		Wait(100 * time.Millisecond).
//		Call("bank", `{"n":7}`).Answer(trace.OK).
//		End().
//		Trace()
package tracetest

import (
	"encoding/json"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Script is a trace in the making. Use [New].
type Script struct {
	events []trace.Event
	now    time.Duration
	action string
	calls  int
	tools  map[int]call
	limit  time.Duration // of the next call
	key    string        // of the next call
	items  trace.Items   // of the next call
}

type call struct{ action, tool, key string }

// New is an empty script at instant 0.
func New() *Script { return &Script{tools: map[int]call{}} }

func (s *Script) add(e trace.Event) *Script {
	e.At = s.now
	s.events = append(s.events, e)
	return s
}

// At moves time to the instant.
func (s *Script) At(t time.Duration) *Script { s.now = t; return s }

// After moves time on by d.
func (s *Script) After(d time.Duration) *Script { s.now += d; return s }

// On makes the action the one that the next events are of.
func (s *Script) On(action string) *Script { s.action = action; return s }

// Begin begins an action and turns to it.
func (s *Script) Begin(action string) *Script { return s.BeginUntil(action, 0) }

// Again begins the action of the number again, at an operator's word.
func (s *Script) Again(action string, number int) *Script {
	s.action = action
	return s.add(trace.Event{Kind: trace.KindBegin, Action: action, Count: number})
}

// BeginUntil begins an action whose caller's context ends at the instant.
func (s *Script) BeginUntil(action string, deadline time.Duration) *Script {
	s.action = action
	return s.add(trace.Event{Kind: trace.KindBegin, Action: action, Deadline: deadline})
}

// Until sets the instant at which the context of later calls ends; 0: never.
func (s *Script) Until(t time.Duration) *Script { s.limit = t; return s }

// Key sets the idempotency key of later calls.
func (s *Script) Key(key string) *Script { s.key = key; return s }

// Items sets what later calls ask for, as batches.
func (s *Script) Items(items trace.Items) *Script { s.items = items; return s }

// Call calls a tool.
func (s *Script) Call(tool, args string) *Script { return s.as(trace.RoleAttempt, tool, args, false) }

// Auth makes a call for credentials, Reconcile one that asks what became of an
// attempt, and Ambiguous one that could belong to several actions.
func (s *Script) Auth(tool string) *Script      { return s.as(trace.RoleAuth, tool, "", false) }
func (s *Script) Reconcile(tool string) *Script { return s.as(trace.RoleReconcile, tool, "", false) }

// Hit is an answer of the tool without a call: a success with the result, or a
// failure with the text.
func (s *Script) Hit(tool, args, result, text string) *Script {
	e := trace.Event{Kind: trace.KindHit, Action: s.action, Tool: tool, Args: trace.Canonical([]byte(args)), Error: text}
	if e.Outcome.Class = trace.Unknown; text == "" {
		e.Outcome.Class, e.Result = trace.OK, trace.Canonical([]byte(result))
	}
	return s.add(e)
}

// Record is a record that is written to a sink.
func (s *Script) Record(role trace.Role, sink string) *Script { return s.as(role, sink, "", false) }

func (s *Script) Ambiguous(tool, args string) *Script {
	return s.as(trace.RoleAttempt, tool, args, true)
}

func (s *Script) as(role trace.Role, tool, args string, lost bool) *Script {
	s.calls++
	e := trace.Event{Kind: trace.KindCall, Role: role, Call: s.calls, Action: s.action, Tool: tool,
		Key: s.key, Deadline: s.limit, Ambiguous: lost, Outcome: trace.Outcome{Items: s.items}}
	if args != "" {
		e.Args = json.RawMessage(args)
	}
	if lost {
		e.Action = ""
	}
	s.tools[s.calls] = call{e.Action, tool, s.key}
	return s.add(e)
}

// Last is the number of the latest call.
func (s *Script) Last() int { return s.calls }

// Answer answers the latest call.
func (s *Script) Answer(c trace.Class) *Script { return s.AnswerTo(s.calls, trace.Outcome{Class: c}) }

// Hint answers the latest call with a wait that the tool asks for.
func (s *Script) Hint(c trace.Class, d time.Duration) *Script {
	return s.AnswerTo(s.calls, trace.Outcome{Class: c, Hint: d})
}

// AnswerTo answers a call by its number.
func (s *Script) AnswerTo(n int, o trace.Outcome) *Script {
	return s.settle(trace.KindAnswer, n, o)
}

// Interrupt ends the context of the latest call while the tool is at work.
func (s *Script) Interrupt(c trace.Class) *Script {
	return s.settle(trace.KindInterrupt, s.calls, trace.Outcome{Class: c})
}

// Effect is the latest call's effect.
func (s *Script) Effect() *Script { return s.settle(trace.KindEffect, s.calls, trace.Outcome{}) }

// EffectOf is the latest call's effect on items of a batch.
func (s *Script) EffectOf(items trace.Items) *Script {
	return s.settle(trace.KindEffect, s.calls, trace.Outcome{Items: items})
}

func (s *Script) settle(kind trace.Kind, n int, o trace.Outcome) *Script {
	c := s.tools[n]
	e := trace.Event{Kind: kind, Call: n, Action: c.action, Tool: c.tool, Outcome: o}
	if kind == trace.KindAnswer && o.Failed() {
		e.Error = o.Class.String()
	}
	if kind == trace.KindEffect {
		e.Key = c.key
	}
	return s.add(e)
}

// Ask asks a sleeper for a wait that takes no time; Wait takes its time.
func (s *Script) Ask(d time.Duration) *Script {
	return s.add(trace.Event{Kind: trace.KindWait, Action: s.action, Wait: d})
}

// Wait asks a sleeper for a wait and sleeps it.
func (s *Script) Wait(d time.Duration) *Script { return s.Ask(d).After(d) }

// Cancel is the caller's cancel.
func (s *Script) Cancel() *Script {
	return s.add(trace.Event{Kind: trace.KindCancel, Action: s.action})
}

// Publish publishes a terminal.
func (s *Script) Publish(r trace.Reason) *Script {
	return s.add(trace.Event{Kind: trace.KindPublish, Action: s.action, Reason: r})
}

// Observe hands on a failure, as JSON.
func (s *Script) Observe(raw string) *Script {
	return s.add(trace.Event{Kind: trace.KindObservation, Action: s.action, Result: trace.Canonical([]byte(raw))})
}

// Trouble is a hang, leak, panic or spin.
func (s *Script) Trouble(k trace.Kind, text string) *Script {
	return s.add(trace.Event{Kind: k, Action: s.action, Error: text})
}

// Crash is a crash of the action's process, at its durable write of that number;
// 0: at none.
func (s *Script) Crash(write int) *Script {
	return s.add(trace.Event{Kind: trace.KindCrash, Action: s.action, Count: write})
}

// Drain tells the action's process to stop, with so much grace.
func (s *Script) Drain(grace time.Duration) *Script {
	return s.add(trace.Event{Kind: trace.KindDrain, Action: s.action, Wait: grace})
}

// HandBack is the end of a process that was told to stop and left the action to
// the next one.
func (s *Script) HandBack() *Script {
	return s.add(trace.Event{Kind: trace.KindHandback, Action: s.action, Error: "draining"})
}

// Restart is the begin of the next process.
func (s *Script) Restart() *Script {
	return s.add(trace.Event{Kind: trace.KindRestart, Action: s.action})
}

// End ends the action with a success.
func (s *Script) End() *Script { return s.Ending(trace.Event{}) }

// Fail ends the action with an error.
func (s *Script) Fail(text string) *Script { return s.Ending(trace.Event{Error: text}) }

// FailFor ends the action with an error and a reason.
func (s *Script) FailFor(r trace.Reason) *Script {
	return s.Ending(trace.Event{Error: r.String(), Reason: r})
}

// Ending ends the action with the end's own fields of e.
func (s *Script) Ending(e trace.Event) *Script {
	e.Kind, e.Action = trace.KindEnd, s.action
	return s.add(e)
}

// Trace is the trace so far.
func (s *Script) Trace() *trace.Trace {
	return &trace.Trace{Schema: trace.Schema, Events: append([]trace.Event(nil), s.events...)}
}
