package trace

import (
	"encoding/json"
	"iter"
	"time"
)

// An Action is one intended operation, what a person counts once: "pay
// invoice 7". It is computed from the events.
type Action struct {
	Name      string          // empty: the only, undeclared action
	Begin     time.Duration   // its begin event, or its first call where there is none
	End       time.Duration   // its end event; 0 while Ended is false
	Ended     bool            // there is an end event
	BeginAt   int             // index of its begin event; -1: there is none
	EndEvent  int             // index of the end event; -1: none
	Deadline  time.Duration   // instant at which the caller's context ends; 0: none
	Cancel    time.Duration   // instant of the cancel; meaningful where CancelAt >= 0
	CancelAt  int             // index of the cancel event; -1: none
	Reason    Reason          // what the program said of its end
	Error     string          // text of the returned error; empty: none
	Result    json.RawMessage // what it returned, canonical; nil: nothing
	Want      json.RawMessage // the result that the evidence calls for; nil: not known
	Cause     int             // the call whose error the returned error keeps; -1: of none; 0: not looked at
	Count     int             // the attempts that the returned error tells of; 0: it does not say
	Key       string          // of a call that was served: the caller's idempotency key; empty: none
	Args      json.RawMessage // of a call that was served: what it was called with, canonical
	Code      string          // of a call that was served: how it was refused; empty: it was not, or nobody says
	Attempts  []Attempt       // of every tool, in order of arrival; calls of another role are left out
	Series    []Series        // the same attempts, by tool and arguments
	Effects   []int           // indices of the effect events
	Published []int           // indices of the terminals that the program published
	Observed  []int           // indices of the observations that the program handed on
	Hits      []int           // indices of the calls that were answered without being made
	Waits     []int           // indices of the waits that the program asked for
	Troubles  []int           // indices of hang, leak, panic and spin events
	Said      []int           // indices of the texts that the user was shown
	Again     int             // the number of the action that this one does again at somebody's word, from 1 in their order; 0: none
	Restarts  []Restart       // of the program's process while the action was under way
	Drains    []Drain         // instants at which that process was told to stop

	planned time.Duration // waits asked for since the last attempt
	slept   bool
	room    room
	grouped []Attempt // the attempts tool by tool, while series are cut
}

// Cancelled reports whether the caller cancelled the action.
func (a *Action) Cancelled() bool { return a.CancelAt >= 0 }

// A Restart is the end of the program's process, by a crash or because it was
// told to stop and handed the action back, and the begin of the next one.
// Instants are since the trace's Start.
type Restart struct {
	Crash      time.Duration // when the process died, or stopped
	CrashEvent int           // index of the crash or handback event
	HandedBack bool          // it stopped by itself; see [Op.HandBack]
	Write      int           // the number of the durable write at which it died; 0: at none
	Up         time.Duration // when the next process went on with the action; meaningful where UpEvent >= 0
	UpEvent    int           // index of the restart event; -1: none came
}

// A Series is the run of attempts of one action at one tool with the same
// arguments. After a failure, changed arguments stay in the series and are
// drift; after a success, changed arguments open a new series (the next page)
// and unchanged ones are a needless call of the same series. Calls that are under
// way at once with different arguments, as the items of a batch, are of a series
// each; a call that follows them is of the series that sent the same arguments.
// Of a batch that is sent chunk by chunk each chunk is a series: a request with
// new items only opens one, and a request with items of before goes on with
// theirs.
type Series struct {
	Tool     string    // the same for all of them
	Attempts []Attempt // at least one, in order of arrival
}

// An Attempt is one physical execution asked of a tool. All instants are since
// the trace's Start.
type Attempt struct {
	Event       int             // index of its call event
	AnswerEvent int             // index of its answer event; -1: none came
	Call        int             // the number of the physical call over the whole trace
	N           int             // number within its series, from 1
	Tool        string          // the tool that was reached
	CallID      string          // the id that the model or the protocol gave the call; empty: none
	Ask         int             // the number, over the action, of the model's call that it serves, from 1; 0: of none that is known
	Layer       string          // the path of the layers above it, outermost first; empty: none is declared
	Items       Items           // of a batch: what it asks for; empty: it is none
	Key         string          // the idempotency key that it carried; empty: none
	Credential  string          // the credential that it carried; empty: none, or not looked at
	Definition  string          // the version of the tool's definition that the program had; empty: not known
	Session     int             // the session that it went over; 0: not known
	Args        json.RawMessage // canonical, without the key; nil: none
	Result      json.RawMessage // of its answer, canonical; nil: none
	Outcome     Outcome         // as the caller saw it: an interrupt counts before a later answer
	Answer      Outcome         // as the tool answered; differs from Outcome where the context ended first
	Begin       time.Duration   // when the tool was reached
	End         time.Duration   // when the caller saw the outcome; meaningful where Seen
	Seen        bool            // the caller saw an outcome
	Lost        bool            // the process died while it was under way: there is no outcome, and End is the instant of the crash
	Drained     bool            // the process was told to stop and ended the attempt's context by itself, or left the attempt under way as it handed the action back
	Interrupted time.Duration   // instant at which the context ended in flight, at least 1ns; 0: it did not
	Answered    time.Duration   // instant of the tool's answer; meaningful where AnswerEvent >= 0
	Deadline    time.Duration   // instant at which the given context ends; 0: none
	Gap         time.Duration   // from the end of the attempt before it in its series to its begin; 0 for the first, and where that was never answered; negative: they overlap
	Planned     time.Duration   // the waits asked of the sleeper since the action's attempt before
	Slept       bool            // there was such a wait
}

// Remaining is the time that the tool was given; ok is false where it was
// given no deadline.
func (a *Attempt) Remaining() (left time.Duration, ok bool) {
	return until(a.Deadline, a.Begin), a.Deadline != 0
}

// Actions returns the actions of the trace in the order in which they began.
// The result is computed once and shared: it must not be changed.
// Calls marked as ambiguous belong to none of them.
func (t *Trace) Actions() []Action {
	t.once.Do(func() { t.actions = buildActions(t.Events) })
	return t.actions
}

// Attempts returns the attempts of all actions, action by action, each in order
// of arrival. They are those of [Trace.Actions] and must not be changed.
func (t *Trace) Attempts() iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		for i := range t.Actions() {
			a := &t.actions[i]
			for n := range a.Attempts {
				if !yield(&a.Attempts[n]) {
					return
				}
			}
		}
	}
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
