package invariants_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestEscalatesAfter(t *testing.T) {
	// Each letter is an action: f fails, s succeeds, d is declined, c is cancelled,
	// b is refused by a breaker without an attempt, e is handed on without one.
	story := func(actions string) *trace.Trace {
		s := tracetest.New()
		for i, kind := range actions {
			s.Begin(string(rune('A' + i)))
			switch kind {
			case 'f':
				s.Call("w", pune).Answer(forbidden).Fail("403")
			case 's':
				s.Call("w", pune).Answer(ok).End()
			case 'd':
				s.Call("w", pune).Answer(trace.Declined).Fail("no seats")
			case 'c':
				s.Call("w", pune).Cancel().Interrupt(cancelled).Fail("cancelled")
			case 'b':
				s.FailFor(trace.ReasonBreakerOpen)
			case 'e':
				s.FailFor(trace.ReasonEscalated)
			}
			s.After(1)
		}
		return s.Trace()
	}
	for actions, want := range map[string]string{
		"":        "",
		"fffe":    "",
		"fffee":   "",
		"ffsffs":  "",
		"ffff":    "w was called after 3 actions in a row had failed",
		"ffss":    "",
		"fffs":    "w was called after 3 actions in a row had failed",
		"ffe":     "after 2 failed actions in a row, and the turn goes on to 3",
		"ffsfe":   "after 1 failed action in a row",
		"e":       "after 0 failed actions in a row",
		"fcfe":    "",
		"fcff":    "",
		"fcffs":   "w was called after 3",
		"fdffe":   "",
		"fdffs":   "",
		"fbfe":    "",
		"fbfs":    "",
		"fsffffe": "w was called after 3",
	} {
		found := Find(story(actions), EscalatesAfter(3))
		if want == "" {
			require.Empty(t, found, actions)
			continue
		}
		require.Len(t, found, 1, actions)
		require.Contains(t, found[0].Text, want, actions)
	}
}

// Actions at once: who was under way when the row was full goes on, and a success
// at the instant of a failure may have come after it.
func TestEscalatesAfterWithActionsAtOnce(t *testing.T) {
	two := func() *tracetest.Script {
		return tracetest.New().Begin("a").Call("w", pune).Begin("b").Call("w", pune).Begin("c").Call("w", pune)
	}
	under := two().On("a").AnswerTo(1, down).Fail("503").On("b").AnswerTo(2, down).Fail("503").On("c").AnswerTo(3, down).After(sec).Call("w", pune).Answer(ok).End()
	require.Empty(t, Find(under.Trace(), EscalatesAfter(2)))
	tie := two().On("c").AnswerTo(3, fine).End().On("a").AnswerTo(1, down).Fail("503").On("b").AnswerTo(2, down).Fail("503").Begin("d").Call("w", pune).Answer(ok).End()
	require.Empty(t, Find(tie.Trace(), EscalatesAfter(2)))
	later := two().On("c").AnswerTo(3, fine).End().After(sec).On("a").AnswerTo(1, down).Fail("503").On("b").AnswerTo(2, down).Fail("503").Begin("d").Call("w", pune).Answer(ok).End()
	require.Len(t, Find(later.Trace(), EscalatesAfter(2)), 1)
}
