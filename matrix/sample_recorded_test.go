package matrix_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// recorded are traces of a model as a recorder would have made them outside
// of virtual time: written to a file, read back, and late by some microseconds.
func recorded(t *testing.T, character fakeModel, n int, scenarios ...matrix.Scenario) map[string][]*trace.Trace {
	t.Helper()
	all := map[string][]*trace.Trace{}
	for _, sc := range scenarios {
		for sample := 1; sample <= n; sample++ {
			r := faultsim.Trial(t, model(character)(sample), sc.Schedule)
			require.NoError(t, r.Err)
			all[sc.Name] = append(all[sc.Name], inRealTime(t, r.Trace))
		}
	}
	return all
}

func inRealTime(t *testing.T, tr *trace.Trace) *trace.Trace {
	t.Helper()
	late := &trace.Trace{Schema: tr.Schema, Policy: tr.Policy, Beside: tr.Beside, Start: tr.Start, Events: slices.Clone(tr.Events)}
	const step = 137 * time.Microsecond
	for i := range late.Events {
		e := &late.Events[i]
		if e.At += time.Duration(i) * step; e.Deadline > 0 {
			e.Deadline += time.Duration(max(0, i-1)) * step // the context was made a little before
		}
	}
	var file bytes.Buffer
	_, err := late.WriteTo(&file)
	require.NoError(t, err)
	back, err := trace.Read(&file)
	require.NoError(t, err)
	return back
}

func recordedVariant(t *testing.T, name string, character fakeModel, n int) matrix.Variant {
	a := model(character)(1)
	return matrix.Variant{Name: name, Recorded: recorded(t, character, n, weatherScenarios...), Contract: a.Contract()}
}

// Traces that were recorded elsewhere are judged as samples that are played.
func TestRecordedTracesAreJudgedAsSamplesAre(t *testing.T) {
	character := fakeModel{strays: 0.1, mishears: 0.2}
	both := sampled(30, variant("played", "", character), recordedVariant(t, "recorded", character, 30))
	got, err := matrix.PlaySamples(t, both)
	require.NoError(t, err)
	require.Len(t, got.Cells, 6)
	for i := 0; i < len(got.Cells); i += 2 {
		played, recorded := got.Cells[i], got.Cells[i+1]
		require.Equal(t, played.Kept, recorded.Kept)
		require.Less(t, played.Kept.Passed, 30)
		for j := range played.Checks {
			require.Equal(t, played.Checks[j].Rate, recorded.Checks[j].Rate)
		}
		require.Equal(t, played.Broken[0].Samples, recorded.Broken[0].Samples)
	}
}

// Without Hard a recording is held to what real time lets be seen: a right loop keeps
// all of it, and a wrong one does not.
func TestARecordingIsNotHeldToTheNanosecond(t *testing.T) {
	right := matrix.Samples{Scenarios: weatherScenarios, Variants: []matrix.Variant{recordedVariant(t, "right", careful, 1)}}
	got, err := matrix.PlaySamples(t, right)
	require.NoError(t, err)
	contract := right.Variants[0].Contract
	exact := 0
	for _, c := range got.Cells {
		require.Empty(t, c.Broken, c.Scenario)
		exact += len(invariants.Find(right.Variants[0].Recorded[c.Scenario][0], contract.Invariants()...))
	}
	require.Positive(t, exact, "the exact rules do find something in real time")

	wrong := matrix.Samples{Scenarios: weatherScenarios, Variants: []matrix.Variant{recordedVariant(t, "wrong", fakeModel{nags: 1}, 1)}}
	got, err = matrix.PlaySamples(t, wrong)
	require.NoError(t, err)
	require.Equal(t, "no-retry-after-refusal", got.Cells[2].Broken[0].Finding.Invariant)
}

// So do right programs with breakers, hedges, and logs that fail.
func TestRightProgramsInRealTimeKeepWhatARecordingIsHeldTo(t *testing.T) {
	for _, name := range []string{"breaker-in-a-row", "hedged-read", "log-under-its-own-limit"} {
		keepsInRealTime(t, specimen(t, name))
	}
}

// A right loop with timeouts, budgets, deadlines and cancels breaks, in real time,
// only rules that are left out for it.
func TestARightLoopInRealTimeKeepsWhatARecordingIsHeldTo(t *testing.T) {
	cut := with(budgetedRead, func(p *invariants.Policy) { p.ID, p.BudgetCuts, p.BudgetLate = "cut/v1", true, invariants.LateWait })
	for _, policy := range []invariants.Policy{read, cut, keyed, bare} {
		a := loop(policy)
		if subject := a.Subject; policy.BudgetCuts {
			a.Subject = func(s *faultsim.Stage) faultsim.Action {
				act := subject(s)
				return func(ctx context.Context) (any, error) {
					ctx, cancel := context.WithTimeout(ctx, policy.Budget)
					defer cancel()
					return act(ctx)
				}
			}
		}
		keepsInRealTime(t, a)
	}
}

// keepsInRealTime plays the matrix of a right program and judges each row as a recording.
func keepsInRealTime(t *testing.T, a faultsim.Adapter) {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	for _, row := range played {
		if row.Skipped != nil {
			continue
		}
		require.Empty(t, row.Complaint, row.Row.Name)
		s := matrix.Samples{Scenarios: []matrix.Scenario{{Name: "row"}}, Variants: []matrix.Variant{{
			Name: "right", Contract: a.Contract(), Recorded: map[string][]*trace.Trace{"row": {inRealTime(t, row.Result.Trace)}},
		}}}
		got, err := matrix.PlaySamples(t, s)
		require.NoError(t, err)
		for _, b := range got.Cells[0].Broken {
			t.Errorf("%s under %s: %v", row.Row.Name, a.Policy.ID, b.Finding)
		}
	}
}

func TestRecordedTracesThatCannotBeJudged(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*matrix.Variant)
		want  string
	}{
		"nil":            {func(v *matrix.Variant) { v.Recorded["calm"][1] = nil }, `sample #2 of scenario "calm", Recorded of variant "model-a", is nil`},
		"empty":          {func(v *matrix.Variant) { v.Recorded["calm"][0] = &trace.Trace{} }, "is empty: let the code reach its tools through the recorder"},
		"twice":          {func(v *matrix.Variant) { v.Recorded["calm"][1] = v.Recorded["calm"][0] }, "is the same trace as one before it: each sample counts once"},
		"another policy": {func(v *matrix.Variant) { v.Contract.Policy.MaxAttempts = 9 }, `was recorded under another contract than "assistant/v1"`},
		"other tools":    {func(v *matrix.Variant) { v.Contract.Allowed = append(v.Contract.Allowed, "scraper") }, `was recorded under another contract than "assistant/v1"`},
		"no policy":      {func(v *matrix.Variant) { v.Contract = invariants.Contract{} }, `Contract of recorded variant "model-a": `},
		"no scenario":    {func(v *matrix.Variant) { v.Recorded["storm"] = v.Recorded["calm"] }, `names "storm", which is no scenario`},
		"none of it":     {func(v *matrix.Variant) { delete(v.Recorded, "refused") }, `has no trace of scenario "refused": record some`},
		"none at all":    {func(v *matrix.Variant) { v.Recorded = map[string][]*trace.Trace{} }, `has no trace of scenario "calm"`},
		"ambiguous": {func(v *matrix.Variant) {
			for i := range v.Recorded["calm"][0].Events {
				v.Recorded["calm"][0].Events[i].Ambiguous = v.Recorded["calm"][0].Events[i].Tool != ""
			}
		}, "has only calls that could belong to several actions"},
	} {
		t.Run(name, func(t *testing.T) {
			v := recordedVariant(t, "model-a", careful, 2)
			c.spoil(&v)
			_, err := matrix.PlaySamples(t, matrix.Samples{Scenarios: weatherScenarios, Variants: []matrix.Variant{v}})
			require.ErrorContains(t, err, c.want)
		})
	}
}
