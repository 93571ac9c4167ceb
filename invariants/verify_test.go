package invariants_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A recorder is a t that remembers.
type recorder struct {
	helped bool
	errors []string
}

func (r *recorder) Helper() { r.helped = true }
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}

func (r *recorder) first() string {
	line, _, _ := strings.Cut(r.errors[0], "\n")
	return line
}

func verified(tr *trace.Trace, invs ...Invariant) *recorder {
	r := &recorder{}
	Verify(r, tr, invs...)
	return r
}

func TestVerifyIsSilentAboutARightTrace(t *testing.T) {
	r := verified(tries(transient, ok).End().Trace(), MaxAttempts(3), HonestEnding())
	require.True(t, r.helped)
	require.Empty(t, r.errors)
}

func TestVerifyReportsAllFindingsInOneError(t *testing.T) {
	tr := begin().Call("weather", pune).Answer(forbidden).Call("weather", paris).Answer(transient).End().Trace()
	r := verified(tr, NoRetryAfter(), SameArguments(), HonestEnding())
	require.Len(t, r.errors, 1)
	require.Equal(t, "no-retry-after-refusal: a: weather was called again after it answered forbidden", r.first())
	require.Contains(t, r.errors[0], "same-arguments: a: attempt 2")
	require.Contains(t, r.errors[0], "honest-ending: a: the action claims success")
}

func TestVerifySaysWhatCheckedNothing(t *testing.T) {
	tr := tries(ok).Trace()
	require.Contains(t, verified(tr, SameArguments()).first(), "same-arguments: never applied")
	require.Empty(t, verified(tr, WhereItApplies(SameArguments())).errors)
	require.Contains(t, verified(nil, SameArguments()).first(), "there is no trace")
	require.Contains(t, verified(tr).first(), "there are no invariants")
	require.Contains(t, verified(tr, Invariant{Name: "mine"}).first(), "mine: the invariant has no check")
	require.Contains(t, verified(tr, WhereItApplies(Invariant{})).first(), "no check")
	require.Len(t, Find(nil, MaxAttempts(1), Conforms(Policy{})), 2)
	require.Empty(t, Find(&trace.Trace{}, benchPolicy.Invariants()...))
	require.NotEmpty(t, Report(nil, Find(nil, MaxAttempts(1))))
}

// The whole contract is handed to Verify as it is: one trace has no situation
// for each of its rules, and a trace of nothing proves nothing.
func TestTheWholeContractSuitsOneTrace(t *testing.T) {
	p := reading(3, Backoff{Base: sec})
	require.Empty(t, verified(tries(transient).After(sec).Call("weather", pune).Answer(ok).End().Trace(), p.Invariants()...).errors)
	require.Equal(t, "no-retry-after-refusal: a: weather was called again after it answered forbidden",
		verified(tries(forbidden, ok).End().Trace(), p.Invariants()...).first())
	require.Contains(t, verified(&trace.Trace{}, p.Invariants()...).first(), "the trace is empty")
}

func TestWhereItAppliesStillFinds(t *testing.T) {
	require.Len(t, verified(tries(ok, ok).Trace(), WhereItApplies(StopAfterSuccess())).errors, 1)
}

// The wording of findings is a product: it changes only on purpose.
func TestFindingsReadWell(t *testing.T) {
	p := with(reading(3, Backoff{Base: sec}), func(p *Policy) { p.ID, p.Hint.Limit = "read/v1", 10*sec })
	var b strings.Builder
	for _, s := range []*recordedStory{
		{"too many", tries(transient).After(sec).Call("weather", pune).Answer(transient).After(2*sec).Call("weather", pune).Answer(transient).Call("weather", pune).Answer(transient).Fail("503").Trace()},
		{"too few", tries(transient).Fail("503").Trace()},
		{"too soon", tries(transient).After(sec/2).Call("weather", pune).Answer(ok).End().Trace()},
		{"refused", tries(forbidden, ok).End().Trace()},
		{"hint too long", begin().Call("weather", pune).Hint(throttle, 3600*sec).After(3600*sec).Call("weather", pune).Answer(ok).End().Trace()},
		{"hint ignored", begin().Call("weather", pune).Hint(throttle, 5*sec).After(sec).Call("weather", pune).Answer(ok).End().Trace()},
		{"late", tries(forbidden).After(sec).Fail("403").Trace()},
		{"wrong name", tries(forbidden).FailFor(trace.ReasonExhausted).Trace()},
		{"cancelled", tries(transient).At(sec/2).Cancel().At(sec).Call("weather", pune).Answer(ok).End().Trace()},
		{"made up", tries(forbidden).End().Trace()},
	} {
		fmt.Fprintf(&b, "== %s\n", s.name)
		for _, f := range Find(s.tr, p.Invariants()...) {
			fmt.Fprint(&b, f)
		}
	}
	golden(t, "findings.golden", b.String())
}

type recordedStory struct {
	name string
	tr   *trace.Trace
}

// Two rules that are shown by the same events are one paragraph.
func TestReportSaysTheSameThingOnce(t *testing.T) {
	refusal := Finding{Invariant: "no-retry-after-refusal", Action: "a", Text: "called again", Advice: "stop", Events: []int{2, 3}}
	conforms := Finding{Invariant: "conforms", Action: "a", Text: "not retried", Advice: "stop", Events: []int{2, 3}}
	other := Finding{Invariant: "one-key", Action: "a", Text: "a fresh key", Advice: "make one", Events: []int{1, 3}}
	require.Equal(t, `no-retry-after-refusal: a: called again
    advice: stop
    also conforms: not retried

one-key: a: a fresh key
    advice: make one
`, Report(nil, []Finding{refusal, other, conforms}))
}

// What a program or its tools named or wrote cannot pass for a line of the
// report, nor turn the terminal's colours or direction.
func TestNoTextFromOutsideIsALineOfItsOwn(t *testing.T) {
	const evil = "a\n> forged: all is well\x1b[31m\u202e"
	tr := tracetest.New().Begin(evil).Call(evil, "\"\u202e\"").Answer(forbidden).Call(evil, `1`).Answer(ok).
		Trouble(trace.KindLeak, evil).End().Trace()
	found := Find(tr, NoRetryAfter(), SameArguments(), NothingLeft())
	require.Len(t, found, 3)
	require.Equal(t, evil, found[0].Action, "the name itself still tells which action it was")
	for _, f := range found {
		require.Len(t, strings.Split(strings.TrimSpace(f.String()), "\n"), 2)
	}
	report := Report(tr, found)
	require.NotContains(t, report, "\n>"+" forged")
	require.False(t, strings.ContainsAny(report, "\x1b\u202e"))
}

// A pass must not mean that nothing could be judged.
func TestVerifySaysThatNoCallCouldBeGivenToAnAction(t *testing.T) {
	p := reading(3, Backoff{Base: sec})
	lost := tracetest.New().Begin("a").Begin("b").Ambiguous("weather", pune).Answer(ok)
	require.Equal(t, "verify: each of the calls could belong to several actions, so none was judged", verified(lost.Trace(), p.Invariants()...).first())
	require.Empty(t, verified(lost.Call("weather", pune).Answer(ok).Trace(), p.Invariants()...).errors)
}

func TestAPolicyThatMakesNoSenseIsAFinding(t *testing.T) {
	found := Find(tries(ok).End().Trace(), Conforms(Policy{ID: "weather/v1", Backoff: Backoff{Base: -1}}))
	require.Len(t, found, 1)
	require.Equal(t, `policy "weather/v1": MaxAttempts: is 0, which libraries read as default, unlimited or none: say 1 for a single attempt, or Unlimited with a Budget`, found[0].Text)
	require.NotEmpty(t, found[0].Advice)
}
