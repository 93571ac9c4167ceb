package invariants_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// givenUp is a job whose attempts are used up, all of them by the class.
func givenUp(c trace.Class) *tracetest.Script {
	s := pay(begin()).Answer(c)
	s = pay(s.After(10 * sec)).Answer(c)
	return pay(s.After(20 * sec)).Answer(c).FailFor(trace.ReasonExhausted)
}

func TestAnOperatorsRetryBeginsAfresh(t *testing.T) {
	p := with(kept(), func(p *Policy) { p.Retry, p.Budget = append(p.Retry, throttle), 60*sec })
	day := 24 * 3600 * sec
	again := func(s *tracetest.Script) *tracetest.Script { return s.After(day).Again("a#2", 1) }
	for _, c := range []struct {
		name string
		tr   *tracetest.Script
		rule string // the first that is broken; empty: none
		text string
	}{
		{"F062: with a count and a clock of its own", pay(pay(again(givenUp(transient))).Answer(transient).After(10 * sec)).Answer(ok).End(), "", ""},
		{"F062: dead at once", again(givenUp(transient)).FailFor(trace.ReasonExhausted), "operator-retry", "begun again and ended without an attempt"},
		{"one attempt only", pay(again(givenUp(transient))).Answer(transient).Fail("busy"), "operator-retry", "given up after attempt 1 of bank"},
		{"another key, after what may have been done", again(givenUp(transient)).Key("k2").Call("bank", `{"n":7}`).Answer(ok).End(), "operator-retry", `called with key "k2", and an attempt with key "k1" may have done its work`},
		{"another key, after nothing can have been done", again(givenUp(throttle)).Key("k2").Call("bank", `{"n":7}`).Answer(ok).End(), "", ""},
		{"another key, after a refusal that settles it", again(pay(pay(begin()).Answer(transient).After(10*sec)).Answer(forbidden).Fail("403")).Key("k2").Call("bank", `{"n":7}`).Answer(ok).End(), "", ""},
		{"the same key for another request", again(givenUp(transient)).Key("k1").Call("bank", `{"n":8}`).Answer(ok).End(), "one-key", "which the action had used for other arguments"},
		{"it was done before", again(pay(begin()).Answer(ok).End()).End(), "", ""},
		{"done before, and done again by its key", pay(again(pay(begin()).Answer(ok).End())).Answer(ok).End(), "", ""},
		{"it was not done, and is called a success", again(givenUp(transient)).End(), "honest-ending", "called no tool"},
		{"a third time", pay(pay(again(givenUp(transient)).FailFor(trace.ReasonCancelled).Again("a#3", 2)).Answer(transient).After(10 * sec)).Answer(ok).End(), "operator-retry", "without an attempt"},
		{"an action that shares the key without a word", givenUp(transient).Begin("b").Key("k1").Call("bank", `{"n":7}`).Answer(ok).End(), "one-key", "which another action had used"},
		{"a file that says nonsense", begin().Again("b", 7).Again("c", -1).FailFor(trace.ReasonNeedsInput), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(c.tr.Trace(), p.Invariants()...)
			if c.rule == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Equal(t, c.rule, found[0].Invariant)
			require.Contains(t, found[0].Text, c.text)
		})
	}
	require.Zero(t, OperatorRetry(p).Check(givenUp(transient).Trace()).Applied)
}
