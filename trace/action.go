package trace

import (
	"encoding/json"
	"time"
)

// An Action is one intended operation, what a person counts once: "pay
// invoice 7". It is computed from the events.
type Action struct {
	Name      string        // empty: the only, undeclared action
	Begin     time.Duration // its begin event, or its first call where there is none
	End       time.Duration // its end event; 0 while Ended is false
	Ended     bool          // there is an end event
	EndEvent  int           // index of the end event; -1: none
	Deadline  time.Duration // instant at which the caller's context ends; 0: none
	Cancel    time.Duration // instant of the cancel; meaningful where CancelAt >= 0
	CancelAt  int           // index of the cancel event; -1: none
	Reason    Reason        // what the program said of its end
	Error     string        // text of the returned error; empty: none
	Result    json.RawMessage
	Want      json.RawMessage // the result that the evidence calls for; nil: not known
	Cause     int             // the call whose error the returned error keeps; -1: of none; 0: not looked at
	Count     int             // the attempts that the returned error tells of; 0: it does not say
	Attempts  []Attempt       // of every tool, in order of arrival; calls of another role are left out
	Series    []Series        // the same attempts, by tool and arguments
	Effects   []int           // indices of the effect events
	Published []int           // indices of the terminals that the program published
	Waits     []int           // indices of the waits that the program asked for
	Troubles  []int           // indices of hang, leak, panic and spin events

	planned time.Duration // waits asked for since the last attempt
	slept   bool
}

// Cancelled reports whether the caller cancelled the action.
func (a *Action) Cancelled() bool { return a.CancelAt >= 0 }

// A Series is the run of attempts of one action at one tool with the same
// arguments. After a failure, changed arguments stay in the series and are
// drift; after a success, changed arguments open a new series (the next page)
// and unchanged ones are a needless call of the same series.
type Series struct {
	Tool     string
	Attempts []Attempt
}

// An Attempt is one physical execution asked of a tool.
type Attempt struct {
	Event       int    // index of its call event
	AnswerEvent int    // index of its answer event; -1: none came
	Call        int    // the number of the physical call over the whole trace
	N           int    // number within its series, from 1
	Tool        string //
	CallID      string //
	Key         string //
	Args        json.RawMessage
	Result      json.RawMessage
	Outcome     Outcome       // as the caller saw it: an interrupt counts before a later answer
	Answer      Outcome       // as the tool answered; differs from Outcome where the context ended first
	Begin       time.Duration //
	End         time.Duration // when the caller saw the outcome; meaningful where Seen
	Seen        bool          // the caller saw an outcome
	Interrupted time.Duration // instant at which the context ended in flight; 0: it did not
	Answered    time.Duration // instant of the tool's answer; meaningful where AnswerEvent >= 0
	Deadline    time.Duration // instant at which the given context ends; 0: none
	Gap         time.Duration // from the end of the attempt before it in its series to its begin; 0 for the first
	Planned     time.Duration // the waits asked of the sleeper in that gap
	Slept       bool          // there was such a wait
}

// Remaining is the time that the tool was given; ok is false where it was
// given no deadline.
func (a *Attempt) Remaining() (left time.Duration, ok bool) {
	return a.Deadline - a.Begin, a.Deadline != 0
}

// Actions returns the actions of the trace in the order in which they began.
// The result is computed once and shared: it must not be changed.
// Calls marked as ambiguous belong to none of them.
func (t *Trace) Actions() []Action {
	t.once.Do(func() { t.actions = buildActions(t.Events) })
	return t.actions
}

// Ambiguous returns the indices of the calls that could belong to several
// actions. No invariant judges them.
func (t *Trace) Ambiguous() []int {
	var found []int
	for i := range t.Events {
		if t.Events[i].Ambiguous && t.Events[i].Kind == KindCall {
			found = append(found, i)
		}
	}
	return found
}

// A view is the state of one pass over the events.
type view struct {
	events  []Event
	actions []Action
	names   map[string]int // action name → index, once there are many
	last    int            // index of the action that was used last
	open    []flight       // calls whose answer has not been seen
}

// A flight is a call that is under way.
type flight struct{ call, action, attempt int }

func buildActions(events []Event) []Action {
	v := view{events: events}
	calls, named := 0, 0
	for i := range events {
		switch events[i].Kind {
		case KindCall:
			calls++
		case KindBegin:
			named++
		}
	}
	v.actions = make([]Action, 0, max(named, 1))
	for i := range events {
		v.add(i, &events[i], calls)
	}
	for i := range v.actions {
		v.actions[i].arrange()
	}
	return v.actions
}

func (v *view) add(i int, e *Event, calls int) {
	if e.Ambiguous {
		return
	}
	switch e.Kind {
	case KindInterrupt:
		v.interrupt(e)
		return
	case KindAnswer:
		v.answer(i, e)
		return
	}
	n := v.find(e)
	a := &v.actions[n]
	switch e.Kind {
	case KindBegin:
		a.Begin, a.Deadline = e.At, e.Deadline
	case KindCall:
		if e.Role != RoleAttempt {
			return
		}
		if a.Attempts == nil {
			a.Attempts = make([]Attempt, 0, calls)
		}
		v.open = append(v.open, flight{e.Call, n, len(a.Attempts)})
		a.Attempts = append(a.Attempts, Attempt{
			Event: i, AnswerEvent: -1, Call: e.Call, Tool: e.Tool, CallID: e.CallID, Key: e.Key,
			Args: e.Args, Begin: e.At, Deadline: e.Deadline, Planned: a.planned, Slept: a.slept,
		})
		a.planned, a.slept = 0, false
	case KindWait:
		a.Waits = append(a.Waits, i)
		a.planned, a.slept = a.planned+e.Wait, true
	case KindCancel:
		if a.CancelAt < 0 {
			a.Cancel, a.CancelAt = e.At, i
		}
	case KindEffect:
		a.Effects = append(a.Effects, i)
	case KindPublish:
		a.Published = append(a.Published, i)
	case KindEnd:
		a.End, a.Ended, a.EndEvent = e.At, true, i
		a.Reason, a.Error, a.Result = e.Reason, e.Error, e.Result
		a.Want, a.Cause, a.Count = e.Want, e.Cause, e.Count
	case KindHang, KindLeak, KindPanic, KindSpin:
		a.Troubles = append(a.Troubles, i)
	}
}

// find returns the index of the event's action, which it makes where it is new.
func (v *view) find(e *Event) int {
	if v.last < len(v.actions) && v.actions[v.last].Name == e.Action {
		return v.last
	}
	if v.names == nil && len(v.actions) > 8 {
		v.names = make(map[string]int, len(v.actions))
		for i := range v.actions {
			v.names[v.actions[i].Name] = i
		}
	}
	if v.names != nil {
		if n, ok := v.names[e.Action]; ok {
			v.last = n
			return n
		}
	} else {
		for n := range v.actions {
			if v.actions[n].Name == e.Action {
				v.last = n
				return n
			}
		}
	}
	v.last = len(v.actions)
	if v.names != nil {
		v.names[e.Action] = v.last
	}
	v.actions = append(v.actions, Action{Name: e.Action, Begin: e.At, EndEvent: -1, CancelAt: -1})
	return v.last
}

// flying returns the attempt that e answers, or nil where none is open.
func (v *view) flying(e *Event, landed bool) *Attempt {
	for i := len(v.open) - 1; i >= 0; i-- {
		if f := v.open[i]; f.call == e.Call {
			if landed {
				v.open = append(v.open[:i], v.open[i+1:]...)
			}
			return &v.actions[f.action].Attempts[f.attempt]
		}
	}
	return nil
}

func (v *view) interrupt(e *Event) {
	if at := v.flying(e, false); at != nil && !at.Seen {
		at.Outcome, at.End, at.Seen, at.Interrupted = e.Outcome, e.At, true, e.At
	}
}

func (v *view) answer(i int, e *Event) {
	at := v.flying(e, true)
	if at == nil {
		return
	}
	at.AnswerEvent, at.Answered, at.Answer, at.Result = i, e.At, e.Outcome, e.Result
	if !at.Seen {
		at.Outcome, at.End, at.Seen = e.Outcome, e.At, true
	}
}

// A lane follows one tool through an action's attempts.
type lane struct {
	tool   string
	before int // index of the tool's latest attempt
	total  int // attempts in all
}

// arrange sorts the attempts into series and computes their numbers and gaps.
func (a *Action) arrange() {
	var few [4]lane
	lanes := few[:0]
	for i := range a.Attempts {
		lanes = a.place(lanes, i)
	}
	if len(lanes) == 1 {
		a.Series = cut(a.Series, a.Attempts)
		return
	}
	// Several tools: each lane's attempts are brought together in a copy.
	for l := range lanes {
		grouped := make([]Attempt, 0, lanes[l].total)
		for i := range a.Attempts {
			if a.Attempts[i].Tool == lanes[l].tool {
				grouped = append(grouped, a.Attempts[i])
			}
		}
		a.Series = cut(a.Series, grouped)
	}
}

// place computes attempt i's number in its series and the gap before it.
func (a *Action) place(lanes []lane, i int) []lane {
	at := &a.Attempts[i]
	for l := range lanes {
		if lanes[l].tool != at.Tool {
			continue
		}
		before := &a.Attempts[lanes[l].before]
		at.N = before.N + 1
		if before.Seen {
			at.Gap = at.Begin - before.End
			if before.Outcome.Class == OK && !SameArgs(before.Args, at.Args) {
				at.N, at.Gap = 1, 0
			}
		}
		lanes[l].before = i
		lanes[l].total++
		return lanes
	}
	at.N = 1
	return append(lanes, lane{tool: at.Tool, before: i, total: 1})
}

// cut appends the series of one tool's attempts: a number 1 begins a new one.
func cut(series []Series, attempts []Attempt) []Series {
	first := 0
	for i := 1; i <= len(attempts); i++ {
		if i == len(attempts) || attempts[i].N == 1 {
			series = append(series, Series{attempts[first].Tool, attempts[first:i:i]})
			first = i
		}
	}
	return series
}
