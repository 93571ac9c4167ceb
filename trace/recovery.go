package trace

import (
	"math"
	"time"
)

// Never is the time of what has not happened: the longest Duration, so that it is
// above every bound that a test asks for.
const Never = time.Duration(math.MaxInt64)

// Calm records that the faults which were put in on purpose have stopped, as at the
// end of a game day: [Trace.Recovery] counts from here. Where it is called several
// times the last one counts.
func (r *Recorder) Calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	e := r.next()
	e.At, e.Kind = at, KindCalm
}

// A Recovery tells how a program came out of its faults, from the instant on at
// which they stopped. A service that is up again is not a program that works again:
// a breaker that never probes, a job that waits for ever and a storm of retries
// outlast what caused them (Bronson et al., Metastable Failures in Distributed
// Systems, HotOS 2021).
//
// An action fails where it returns an error or says another reason than success or
// declined. One that its caller cancelled, or whose deadline was over, neither fails
// nor succeeds, and neither does one whose last attempt was refused for what it asked
// (invalid, unauthenticated, forbidden, not-found, conflict): that says nothing of
// the service.
type Recovery struct {
	Calmed bool          // the trace has the instant at which the faults stop
	Calm   time.Duration // that instant, since Start

	// Time is the time to recover, which operators average as MTTR: from the calm to
	// the end of the first success that has no failure behind it. It ends with an
	// action, so that it is no shorter than the pause before the next one. [Never]:
	// nothing succeeded behind the last failure, or there was no calm.
	Time time.Duration

	// Settled is the time from the calm until the last of the actions had ended that
	// were under way then, whatever they came to. 0: none were. [Never]: one of them
	// has not ended, or there was no calm.
	Settled time.Duration

	Open   []int // indices, among the trace's Actions, of those that were under way at the calm
	Failed []int // of those that failed at the calm or behind it, in the order of the Actions

	// Amplification is [Metrics.Amplification] over the whole trace. During is that
	// of the time before the calm: the attempts that began in it, divided by the
	// actions that did; After is that of the time behind it: the attempts that began
	// in it, divided by the actions that were under way in it. Without a calm After
	// is 0.
	Amplification, During, After float64
}

// Recovered reports whether an action succeeded behind the calm, and none failed
// behind it.
func (r *Recovery) Recovered() bool { return r.Time != Never }

// Recovery computes how the program recovered, in time linear in the trace. A nil
// trace has no events, and so no calm.
func (t *Trace) Recovery() Recovery {
	if t == nil {
		t = new(Trace)
	}
	r := Recovery{Time: Never, Settled: Never}
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == KindCalm {
			r.Calmed, r.Calm = true, e.At
		}
	}
	r.count(t.Actions())
	if r.Calmed {
		r.read(t.Actions())
	}
	return r
}

// count divides attempts by actions, before and behind the calm.
func (r *Recovery) count(actions []Action) {
	var attempts, begun, before, under int
	for i := range actions {
		a := &actions[i]
		attempts += len(a.Attempts)
		if !r.Calmed || a.Begin < r.Calm {
			begun++
		}
		if r.Calmed && (!a.Ended || a.End >= r.Calm) {
			under++
		}
		for n := range a.Attempts {
			if !r.Calmed || a.Attempts[n].Begin < r.Calm {
				before++
			}
		}
	}
	r.Amplification = amplification(attempts, len(actions))
	r.During = amplification(before, begun)
	r.After = amplification(attempts-before, under)
}

// read finds what was open at the calm, and what failed and succeeded behind it.
func (r *Recovery) read(actions []Action) {
	last := r.Calm // the end of the last failure
	r.Settled = 0
	for i := range actions {
		a := &actions[i]
		if a.Begin < r.Calm && (!a.Ended || a.End >= r.Calm) {
			r.Open = append(r.Open, i)
			if !a.Ended {
				r.Settled = Never
			}
			r.Settled = max(r.Settled, a.End-r.Calm)
		}
		if a.Ended && a.End >= r.Calm && a.came() == ill {
			r.Failed = append(r.Failed, i)
			last = max(last, a.End)
		}
	}
	for i := range actions {
		if a := &actions[i]; a.Ended && a.End >= last && a.came() == well {
			r.Time = min(r.Time, a.End-r.Calm)
		}
	}
}

// A health is what the end of an action says of the service and the program.
type health uint8

const (
	unsaid health = iota
	well
	ill
)

// came is what the action came to; it has ended.
func (a *Action) came() health {
	switch {
	case a.Reason == ReasonDeclined, a.Error == "" && (a.Reason == 0 || a.Reason == ReasonSuccess):
		return well
	case a.Cancelled() && a.Cancel <= a.End, a.Deadline != 0 && a.Deadline <= a.End:
		return unsaid
	}
	if n := len(a.Attempts); n > 0 {
		switch a.Attempts[n-1].Outcome.Class {
		case Invalid, Unauthenticated, Forbidden, NotFound, Conflict:
			return unsaid
		case Declined:
			return well
		}
	}
	return ill
}
