package invariants_test

import (
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A switchboard writes a trace of calls over sessions.
type switchboard struct {
	events []trace.Event
	now    time.Duration
	action string
	calls  int
}

func (b *switchboard) add(e trace.Event) *switchboard {
	e.At = b.now
	if e.Kind != trace.KindClose {
		e.Action = b.action
	}
	if e.Kind == trace.KindCall || e.Kind == trace.KindAnswer || e.Kind == trace.KindInterrupt {
		e.Tool = "orders"
	}
	b.events = append(b.events, e)
	return b
}

func (b *switchboard) on(action string) *switchboard      { b.action = action; return b }
func (b *switchboard) after(d time.Duration) *switchboard { b.now += d; return b }
func (b *switchboard) begins(action string) *switchboard {
	return b.on(action).add(trace.Event{Kind: trace.KindBegin})
}
func (b *switchboard) ends() *switchboard { return b.add(trace.Event{Kind: trace.KindEnd}) }
func (b *switchboard) closes(n int) *switchboard {
	return b.add(trace.Event{Kind: trace.KindClose, Session: n})
}
func (b *switchboard) answer(n int, c trace.Class) *switchboard {
	return b.add(trace.Event{Kind: trace.KindAnswer, Call: n, Outcome: trace.Outcome{Class: c}})
}

// calls begins a call over the session, and over makes one that is answered.
func (b *switchboard) opens(n int) *switchboard {
	b.calls++
	return b.add(trace.Event{Kind: trace.KindCall, Call: b.calls, Session: n})
}

func (b *switchboard) over(n int, c trace.Class) *switchboard { return b.opens(n).answer(b.calls, c) }

func (b *switchboard) dials(n int, c trace.Class) *switchboard {
	b.calls++
	return b.add(trace.Event{Kind: trace.KindCall, Role: trace.RoleConnect, Call: b.calls, Session: n}).answer(b.calls, c)
}

func TestRulesOfSessions(t *testing.T) {
	const down, reset = trace.NotConnected, trace.Reset
	const used, under, dialled = "new-session-used", "session-left-alone", "dials-bounded"
	from := func() *switchboard { return (&switchboard{}).begins("a") }
	for _, tt := range []struct {
		name  string
		b     *switchboard
		s     Session
		broke []string
	}{
		{"opened again", from().dials(1, ok).over(1, down).dials(2, ok).over(2, ok), Session{}, nil},
		{"another failure leaves it", from().dials(1, ok).over(1, transient).over(1, ok), Session{}, nil},
		{"used again", from().dials(1, ok).over(1, down).over(1, ok), Session{}, []string{used}},
		{"used again after a reset", from().over(1, reset).after(sec).over(1, ok), Session{}, []string{used}},
		{"the next action begins on it", from().over(1, reset).ends().begins("b").over(1, down), Session{}, []string{used}},
		{"another one had it in its hands", from().begins("b").on("a").over(1, reset).on("b").over(1, down), Session{}, nil},
		{"and has seen it now", from().begins("b").on("a").over(1, reset).on("b").over(1, down).over(1, down), Session{}, []string{used}},
		{"a call under way is answered", from().begins("b").opens(1).on("a").over(1, reset).on("b").answer(1, ok), Session{}, nil},
		{"used when it was closed", from().over(1, ok).closes(1).ends().begins("b").over(1, ok), Session{}, []string{used}},
		{"closed behind the last call", from().over(1, ok).closes(1), Session{}, nil},
		{"closed under a call", from().opens(1).begins("b").over(1, transient).closes(1), Session{}, []string{under}},
		{"closed when it was lost", from().opens(1).begins("b").over(1, reset).closes(1), Session{}, nil},
		{"closed when its caller has left", from().opens(1).add(trace.Event{Kind: trace.KindInterrupt, Call: 1, Outcome: trace.Outcome{Class: timeout}}).closes(1), Session{}, nil},
		{"another one is closed", from().opens(1).closes(2), Session{}, nil},
		{"dialled at once again", from().dials(1, down).dials(2, ok), Session{}, []string{dialled}},
		{"dialled after a wait", from().dials(1, down).after(sec).dials(2, ok), Session{}, nil},
		{"dialled too early", from().dials(1, down).after(sec).dials(2, ok), Session{Pause: 2 * sec}, []string{dialled}},
		{"others dial as well", from().begins("b").on("a").dials(1, down).on("b").dials(2, down), Session{}, nil},
		{"dialled more often than called", from().dials(1, ok).dials(2, ok).dials(3, ok).dials(4, ok), Session{}, []string{dialled}},
		{"once for each attempt, and once more", from().dials(1, ok).over(1, down).dials(2, ok).over(2, down).dials(3, ok), Session{}, nil},
		{"more often than declared", from().dials(1, ok).over(1, down).dials(2, ok), Session{Dials: 1}, []string{dialled}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, tt.s.Validate())
			var broke []string
			for _, f := range Find(&trace.Trace{Events: tt.b.events}, tt.s.Invariants(Policy{MaxAttempts: 2})...) {
				broke = append(broke, f.Invariant)
			}
			require.Equal(t, tt.broke, broke)
		})
	}
}

func TestRulesOfSessionsApply(t *testing.T) {
	tr := &trace.Trace{Events: (&switchboard{}).begins("a").dials(1, ok).over(1, transient).closes(1).dials(2, ok).over(2, ok).events}
	require.Equal(t, map[string]int{"new-session-used": 1, "session-left-alone": 1, "dials-bounded": 2}, Applied(tr, (Session{}).Invariants(Policy{MaxAttempts: 2})...))
}

func TestASessionThatCannotBeIsNamed(t *testing.T) {
	require.ErrorContains(t, (&Session{Dials: -1}).Validate(), "Dials is -1")
	require.ErrorContains(t, (&Session{Pause: -1}).Validate(), "Pause is -1ns")
}

// Whether a dial that fails is an attempt differs between programs, so neither
// the waits around it nor an end before the last attempt are judged.
func TestAFailedDialMayCountAsAnAttempt(t *testing.T) {
	p := Policy{ID: "orders", MaxAttempts: 3, Retry: []trace.Class{trace.NotConnected}, Repeatable: true, Backoff: Backoff{Base: sec}}
	c := Contract{Policy: p, Session: &Session{}}
	story := func(first trace.Class) []trace.Event {
		b := (&switchboard{}).begins("a").dials(1, first).after(sec).dials(2, ok).over(2, trace.NotConnected).after(2*sec).dials(3, ok).over(3, trace.NotConnected)
		return b.add(trace.Event{Kind: trace.KindEnd, Error: "refused"}).events
	}
	require.Empty(t, Find(&trace.Trace{Events: story(trace.NotConnected)}, c.Invariants()...))
	require.NotEmpty(t, Find(&trace.Trace{Events: story(ok)}, c.Invariants()...))
}
