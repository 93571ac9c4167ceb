package matrix_test

import (
	"context"
	"math"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// Each mistake is one clear error, which names the field and says what to do.
func TestUnusableSamplesSayWhatToMend(t *testing.T) {
	passes := func(*trace.Trace) bool { return true }
	for name, c := range map[string]struct {
		spoil func(*matrix.Samples)
		want  string
	}{
		"no scenarios":   {func(s *matrix.Samples) { s.Scenarios = nil }, "Scenarios is empty: say what happens to the tools"},
		"no variants":    {func(s *matrix.Samples) { s.Variants = nil }, "Variants is empty: give at least one"},
		"no samples":     {func(s *matrix.Samples) { s.N = 0 }, "N is 0: say how many samples"},
		"negative":       {func(s *matrix.Samples) { s.N = -3 }, "N is -3: say how many samples"},
		"too many":       {func(s *matrix.Samples) { s.N = math.MaxInt }, "100000 samples are the most"},
		"percent":        {func(s *matrix.Samples) { s.Confidence = 95 }, "Confidence is 95: give a part of 1"},
		"certainty":      {func(s *matrix.Samples) { s.Confidence = 1 }, "Confidence is 1: give a part of 1 from 0.5 to 0.9999"},
		"no number":      {func(s *matrix.Samples) { s.Confidence = math.NaN() }, "Confidence is NaN: give a part of 1"},
		"above one":      {func(s *matrix.Samples) { s.Soft[0].AtLeast = 1.2 }, `AtLeast of Soft "asked for the city" is 1.2: give a part of 1`},
		"below none":     {func(s *matrix.Samples) { s.Soft[0].AtLeast = -0.1 }, "is -0.1: give a part of 1"},
		"NaN at least":   {func(s *matrix.Samples) { s.Soft[0].AtLeast = math.NaN() }, "is NaN: give a part of 1"},
		"all of them":    {func(s *matrix.Samples) { s.Soft[0].AtLeast = 1 }, "is 1, which no number of samples can show: make it a rule of Hard"},
		"no pass":        {func(s *matrix.Samples) { s.Soft[0].Pass = nil }, `Soft "asked for the city" has no Pass: give the function`},
		"reserved":       {func(s *matrix.Samples) { s.Soft[0].Name = "hard rules" }, `Soft[0] is named "hard rules"`},
		"unknown in":     {func(s *matrix.Samples) { s.Soft[0].In = []string{"storm"} }, `In of Soft "asked for the city" names "storm", which is no scenario`},
		"twins":          {func(s *matrix.Samples) { s.Variants[1].Name = "model-a" }, `two of Variants are named "model-a": give each its own name`},
		"nearly twins":   {func(s *matrix.Samples) { s.Variants[0].Name, s.Variants[1].Name = "m_a", "m a" }, `two of Variants are named "m a"`},
		"twin scenarios": {func(s *matrix.Samples) { s.Scenarios[1].Name = "calm" }, `two of Scenarios are named "calm"`},
		"twin checks": {func(s *matrix.Samples) { s.Soft = append(s.Soft, matrix.Soft{Name: "tried again", Pass: passes}) },
			`two of Soft are named "tried again"`},
		"no name":        {func(s *matrix.Samples) { s.Scenarios[0].Name = " " }, "Scenarios[0] has no Name: give it one"},
		"a slash":        {func(s *matrix.Samples) { s.Variants[0].Name = "a/b" }, `Variants[0] is named "a/b": take the slash`},
		"two lines":      {func(s *matrix.Samples) { s.Variants[0].Name = "a\nb" }, `Variants[0] is named "a\nb": take the slash or the control character out`},
		"version":        {func(s *matrix.Samples) { s.Variants[0].Version = "1\n2" }, `Version of variant "model-a" is "1\n2": take the control character out`},
		"itself":         {func(s *matrix.Samples) { s.Variants[0].Replaces = "model-a" }, `variant "model-a" Replaces itself`},
		"nothing at all": {func(s *matrix.Samples) { s.Variants[0].Adapter = nil }, "has neither an Adapter nor Recorded traces"},
		"both":           {func(s *matrix.Samples) { s.Variants[0].Recorded = map[string][]*trace.Trace{} }, "has an Adapter and Recorded traces: make two variants"},
		"a contract":     {func(s *matrix.Samples) { s.Variants[0].Contract.Policy.ID = "x" }, "has an Adapter and a Contract: leave the Contract out"},
		"factory panics": {func(s *matrix.Samples) { s.Variants[0].Adapter = func(int) faultsim.Adapter { panic("no key") } }, `the Adapter of variant "model-a" panicked for sample #1: no key`},
		"panics later":   {func(s *matrix.Samples) { s.Variants[0].Adapter = only(2, func(*faultsim.Adapter) { panic("used up") }) }, "panicked for sample #2: used up"},
		"invalid adapter": {func(s *matrix.Samples) {
			s.Variants[0].Adapter = func(int) faultsim.Adapter { return faultsim.Adapter{} }
		}, `the Adapter of variant "model-a" for sample #1: adapter: Name is empty`},
		"invalid later": {func(s *matrix.Samples) {
			s.Variants[0].Adapter = only(3, func(a *faultsim.Adapter) { a.Subject = nil })
		},
			`sample #3 of variant "model-a" could not be played in scenario "calm": adapter "assistant": Subject is nil`},
		"two promises": {func(s *matrix.Samples) {
			s.Variants[0].Adapter = only(2, func(a *faultsim.Adapter) { a.Policy.MaxAttempts = 2 })
		}, "declares another contract for sample #2 than for #1"},
		"one ID": {func(s *matrix.Samples) {
			s.Variants[1].Adapter = func(n int) faultsim.Adapter { a := model(careful)(n); a.Allowed = nil; return a }
		}, `policy-changed: variants "model-a" and "model-b" declare different contracts under the same policy ID "assistant/v1"`},
		"no tool": {func(s *matrix.Samples) {
			s.Variants[0].Adapter = only(0, func(a *faultsim.Adapter) {
				a.Allowed = nil
				a.Subject = func(*faultsim.Stage) faultsim.Action {
					return func(context.Context) (any, error) { return nil, nil }
				}
			})
		}, `put no tool on the stage`},
		"hard is empty":  {func(s *matrix.Samples) { s.Hard = func(invariants.Contract) []invariants.Invariant { return nil } }, `Hard returned no rule for variant "model-a"`},
		"hard is hollow": {func(s *matrix.Samples) { s.Hard = rules(invariants.Invariant{Name: "x"}) }, "Hard returned a rule without Name or Check"},
		"hard panics": {func(s *matrix.Samples) {
			s.Hard = func(invariants.Contract) []invariants.Invariant { panic("no contract") }
		}, `Hard panicked for variant "model-a": no contract`},
		"a rule panics": {func(s *matrix.Samples) {
			s.Hard = rules(invariants.Invariant{Name: "mine", Check: func(tr *trace.Trace) invariants.Verdict { panic("no attempt") }})
		}, `the rule "mine" panicked: no attempt: it must be able to read every trace, also one without attempts, at sample #1 of variant "model-a" in scenario "calm"`},
		"pass panics": {func(s *matrix.Samples) { s.Soft[0].Pass = func(*trace.Trace) bool { panic("no attempt") } }, `Pass of Soft "asked for the city" panicked: no attempt`},
		"a misfit": {func(s *matrix.Samples) { s.Scenarios[1].Schedule = faultsim.One(faultsim.Fail(trace.Conflict)) },
			`sample #1 of variant "model-a" could not be played in scenario "unavailable"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampled(4, variant("model-a", "", careful), variant("model-b", "", careful))
			s.Scenarios = append([]matrix.Scenario{}, s.Scenarios...)
			s.Soft = append([]matrix.Soft{}, s.Soft...)
			c.spoil(&s)
			_, err := matrix.PlaySamples(t, s)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "matrix: ")
		})
	}
}

// only is the usual factory, whose adapter of one sample is spoiled; 0: of all.
func only(sample int, spoil func(*faultsim.Adapter)) func(int) faultsim.Adapter {
	return func(n int) faultsim.Adapter {
		a := model(careful)(n)
		if n == sample || sample == 0 {
			spoil(&a)
		}
		return a
	}
}

func rules(list ...invariants.Invariant) func(invariants.Contract) []invariants.Invariant {
	return func(invariants.Contract) []invariants.Invariant { return list }
}

// Whatever drives the code, a panic is no matter of most samples, and Hard need not
// say so.
func TestAPanicOfTheCodeIsFoundWhateverIsHard(t *testing.T) {
	s := sampled(5, matrix.Variant{Name: "model-a", Adapter: only(4, func(a *faultsim.Adapter) {
		subject := a.Subject
		a.Subject = func(st *faultsim.Stage) faultsim.Action {
			subject(st)
			return func(context.Context) (any, error) { panic("index out of range") }
		}
	})})
	s.Hard = rules(invariants.StopAfterSuccess())
	got, err := matrix.PlaySamples(t, s)
	require.NoError(t, err)
	require.Equal(t, matrix.Rate{Passed: 4, Of: 5}, got.Cells[0].Kept)
	require.Equal(t, "no-panic", got.Cells[0].Broken[0].Finding.Invariant)
	require.Equal(t, []int{4}, got.Cells[0].Broken[0].Samples)
}
