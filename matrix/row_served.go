package matrix

import (
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// repeatRows are those of a tool that is itself the code under test, as
// [faultsim.Served] makes it: what it makes of a second call that means the same,
// and of one that only looks so. They are in place of [Rows], which are about code
// that calls tools. Source: "A Model Will Retry a Failing Tool Whether or Not That
// Is Safe", and field cases F033 and F035.
func repeatRows() []Row {
	return []Row{
		{Name: "repeat-after-success", Proves: "A repeat of a call whose reply the caller lost gets the same result, and nothing is done again.", Schedule: calls(faultsim.Plan{}, faultsim.Plan{}, faultsim.Plan{})},
		{Name: "repeat-at-once", Proves: "Two equal calls at once are one piece of work, and both get an answer that says so.", Schedule: atOnce},
		{Name: "repeat-at-the-end-of-retention", Proves: "A key is known for as long as is promised.", Schedule: muchLater},
		{Name: "repeat-after-caller-left", Proves: "What was done for a caller that has left is not done again when it comes back.", Schedule: callerLeft},
		{Name: "repeat-after-lost-reply", Proves: "Where a tool below did the work and its reply was lost, a repeat does not do it again.", Schedule: lostBelow},
		{Name: "repeat-after-outage", Proves: "A failure that passes is not kept: an honest repeat does the work, once.", Schedule: outage},
		{Name: "repeat-after-cancel-before", Proves: "A call that was cancelled before it began leaves its key free.", Schedule: calls(faultsim.Plan{Cancel: -1}, faultsim.Plan{})},
		{Name: "repeat-after-refusal", Proves: "A definite failure is kept, or forgotten, as the contract says.", Schedule: afterRefusal},
		{Name: "waiting-behind-a-failure", Proves: "Who waits for a call that fails gets an answer, and a later repeat does the work.", Schedule: behindFailure},
		{Name: "key-with-other-arguments", Proves: "A key belongs to one request: with other arguments it is refused, and nothing is done or told.", Schedule: calls(faultsim.Plan{}, faultsim.Plan{Other: true}, faultsim.Plan{})},
		{Name: "key-with-other-arguments-at-once", Proves: "A key is bound to its arguments while its first call is under way.", Schedule: clashAtOnce},
		{Name: "same-order-twice", Proves: "Two calls with a key each are two pieces of work, however alike they look.", Schedule: distinct(2)},
		{Name: "keys-that-look-alike", Proves: "Keys are compared whole: neither cut, nor in small letters, nor without their dashes.", Schedule: distinct(4)},
		{Name: "repeat-after-crash", Proves: "A process that dies while a tool below is at work does not do the work again, and its key is not lost for ever.", Schedule: crashInFlight},
		{Name: "repeat-after-crash-before-keeping", Proves: "A process that dies before its result is kept does not do the work again.", Schedule: crashAtWrite(2)},
		{Name: "repeat-after-crash-when-kept", Proves: "A process that dies once the key is taken, or the result kept, answers a repeat truthfully.", Schedule: crashAtWrite(1)},
		{Name: "kept-over-a-restart", Proves: "What was kept before the process died is still known when it is back.", Schedule: keptOver},
		{Name: "call-without-key", Proves: "A call without a key is refused, or is work of its own, as the contract says.", Schedule: keyless},
	}
}

// calls is a row of calls one after another.
func calls(plans ...faultsim.Plan) func(Setting) (faultsim.Schedule, error) {
	return Fixed(faultsim.Schedule{Actions: plans})
}

// below is a call in which the main tool below meets the faults.
func below(faults ...faultsim.Fault) faultsim.Plan {
	return faultsim.Plan{Faults: map[string][]faultsim.Fault{faultsim.Main: faults}}
}

// busy is a call that is under way for a second, in which it knows only what
// was so at its begin.
func busy() faultsim.Plan { return below(faultsim.Fault{Latency: time.Second, Done: true}) }

// atOnce needs a tool below that takes its time: what takes none is never at once.
func atOnce(s Setting) (faultsim.Schedule, error) {
	if len(s.Tools) == 0 {
		return faultsim.Schedule{}, NotFor("no tool below takes time, so that no two calls are under way at once")
	}
	return faultsim.Schedule{Actions: []faultsim.Plan{busy(), busy(), busy(), {After: time.Minute}}, AtOnce: true}, nil
}

func clashAtOnce(s Setting) (faultsim.Schedule, error) {
	sched, err := atOnce(s)
	if err == nil {
		sched.Actions[1].Other = true
	}
	return sched, err
}

// muchLater repeats shortly before the key need no longer be known, or after
// a month where it is kept for good.
func muchLater(s Setting) (faultsim.Schedule, error) {
	kept := s.Repeats.Retention
	if kept == 0 {
		kept = 30 * 24 * time.Hour
	}
	return faultsim.Schedule{Actions: []faultsim.Plan{{}, {After: kept - kept/64}}}, nil
}

func callerLeft(s Setting) (faultsim.Schedule, error) {
	if len(s.Tools) == 0 {
		return faultsim.Schedule{}, NotFor("no tool below takes time, in which the caller could leave")
	}
	first := below(faultsim.Fault{Done: true, Latency: time.Second})
	first.Cancel = time.Second/2 + 3
	return faultsim.Schedule{Actions: []faultsim.Plan{first, {}, {After: time.Minute}}}, nil
}

func lostBelow(s Setting) (faultsim.Schedule, error) {
	for _, c := range []trace.Class{trace.Reset, trace.Timeout, trace.Transient, trace.Unknown} {
		if f := faultsim.Lose(c); s.Policy.Effect(trace.Outcome{Class: c}) == trace.EffectUnknown && s.Can(f) {
			return faultsim.Schedule{Actions: []faultsim.Plan{below(f), {}, {After: time.Minute}}}, nil
		}
	}
	return faultsim.Schedule{}, NotFor("no tool below can lose its reply")
}

// passingBelow is a failure that passes, and that does nothing where the tool below
// can say so.
func (s Setting) passingBelow() (trace.Class, error) {
	list := []trace.Class{trace.Transient, trace.Throttled, trace.NotConnected, trace.Reset, trace.Timeout}
	undone := func(c trace.Class) bool {
		return s.Policy.Key != "" || s.Policy.Effect(trace.Outcome{Class: c}) == trace.EffectNotDone
	}
	for _, c := range list {
		if s.Can(faultsim.Fail(c)) && undone(c) {
			return c, nil
		}
	}
	return 0, NotFor("no tool below has a failure that passes and that certainly did nothing: see Undone")
}

// outage lasts for as long as a call may try below, and the repeats come when it
// is over, and a breaker may have closed.
func outage(s Setting) (faultsim.Schedule, error) {
	c, err := s.passingBelow()
	return faultsim.Schedule{
		Actions: []faultsim.Plan{{}, {After: 2 * time.Hour}, {}},
		Outages: []faultsim.Outage{{Tool: faultsim.Main, To: time.Hour, Class: c}},
	}, err
}

func behindFailure(s Setting) (faultsim.Schedule, error) {
	c, err := s.passingBelow()
	return faultsim.Schedule{
		Actions: []faultsim.Plan{below(faultsim.Fault{Class: c, Latency: time.Second}), {}, {After: time.Minute}},
		AtOnce:  true,
	}, err
}

func afterRefusal(s Setting) (faultsim.Schedule, error) {
	for _, c := range []trace.Class{trace.Invalid, trace.NotFound, trace.Conflict, trace.Forbidden, trace.Declined} {
		if f := faultsim.Fail(c); s.Can(f) {
			return faultsim.Schedule{Actions: []faultsim.Plan{below(f), {}}}, nil
		}
	}
	return faultsim.Schedule{}, NotFor("no tool below refuses anything")
}

// comesBack repeats a call that a crash has interrupted: at once, and when its
// lease is over.
func (s Setting) comesBack(crash faultsim.Plan) faultsim.Schedule {
	return faultsim.Schedule{Actions: []faultsim.Plan{crash, {}, {After: s.Repeats.Lease + time.Minute}, {}}}
}

func crashInFlight(s Setting) (faultsim.Schedule, error) {
	if len(s.Tools) == 0 {
		return faultsim.Schedule{}, NotFor("no tool below takes time, in which the process could die")
	}
	return s.comesBack(below(faultsim.Fault{Done: true, Latency: time.Second, Crash: time.Second / 2})), nil
}

// crashAtWrite lets the process die at a write of its disk: the second is not
// made, the first is.
func crashAtWrite(n int) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		if n == 1 {
			return s.comesBack(faultsim.Plan{CrashAfterWrite: n}), nil
		}
		return s.comesBack(faultsim.Plan{CrashBeforeWrite: n}), nil
	}
}

// keptOver lets the process die in a call with another key.
func keptOver(s Setting) (faultsim.Schedule, error) {
	if s.Repeats.By == invariants.ByState {
		return faultsim.Schedule{}, NotFor("the tool knows repeats by the state, and reads no keys")
	}
	crash := faultsim.Plan{Key: 2, CrashAfterWrite: 1}
	if len(s.Tools) > 0 {
		crash = below(faultsim.Fault{Latency: time.Second, Crash: time.Second / 2})
		crash.Key = 2
	}
	return faultsim.Schedule{Actions: []faultsim.Plan{{}, crash, {}}}, nil
}

// distinct is one call for each of the first keys.
func distinct(keys int) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		if s.Repeats.By == invariants.ByState {
			return faultsim.Schedule{}, NotFor("the tool knows repeats by the state, and reads no keys")
		}
		sched := faultsim.Schedule{Actions: make([]faultsim.Plan, keys)}
		for i := range sched.Actions {
			sched.Actions[i].Key = i + 1
		}
		sched.Actions[0].Key = 0
		return sched, nil
	}
}

func keyless(s Setting) (faultsim.Schedule, error) {
	if s.Repeats.Keyless == invariants.KeylessAny {
		return faultsim.Schedule{}, NotFor("the contract does not say what a call without a key gets")
	}
	none := faultsim.Plan{Key: faultsim.NoKey}
	return faultsim.Schedule{Actions: []faultsim.Plan{none, none}}, nil
}
