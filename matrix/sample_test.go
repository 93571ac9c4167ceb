package matrix_test

import (
	"context"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A model that keeps the rules, and does what is wanted often enough, passes.
func TestSample(t *testing.T) {
	matrix.Sample(t, sampled(40, variant("model-a", "2026-10", careful), variant("model-b", "2026-11", steady)))
}

// samplings are samples whose output is a golden file.
var samplings = map[string]func(*testing.T){
	"right": func(t *testing.T) {
		matrix.Sample(t, sampled(40, variant("model-a", "2026-10", careful), variant("model-b", "2026-11", steady)))
	},
	// One sample in twenty or so breaks a hard rule, which one run would not show.
	"hard": func(t *testing.T) {
		matrix.Sample(t, sampled(40, variant("model-a", "", fakeModel{strays: 0.05, nags: 0.1, invents: 0.1})))
	},
	"too-low": func(t *testing.T) { matrix.Sample(t, sampled(40, variant("model-a", "2026-10", distracted))) },
	"undecided": func(t *testing.T) {
		s := sampled(5, variant("model-a", "2026-10", careful))
		s.Soft = []matrix.Soft{weatherSoft[0], {Name: "in one call", Pass: func(tr *trace.Trace) bool { return !triedAgain(tr) }, AtLeast: 0.5}}
		s.Scenarios = s.Scenarios[:1]
		matrix.Sample(t, s)
	},
	"undecided-fails": func(t *testing.T) {
		s := sampled(5, variant("model-a", "2026-10", careful))
		s.Scenarios, s.Soft, s.FailUndecided, s.Confidence = s.Scenarios[:1], s.Soft[:1], true, 0.99
		matrix.Sample(t, s)
	},
	// One variant against another of the same run.
	"replaces": func(t *testing.T) {
		b := variant("model-b", "2026-11", fakeModel{mishears: 0.4})
		b.Replaces = "model-a"
		s := sampled(40, variant("model-a", "2026-10", careful), b)
		s.Soft = []matrix.Soft{{Name: "asked for the city", Pass: askedForPune}}
		matrix.Sample(t, s)
	},
	// All that the contract implies, and a deviation that is accepted.
	"accepts": func(t *testing.T) {
		make := model(fakeModel{quits: 0.2})
		s := sampled(20, matrix.Variant{Name: "model-a", Adapter: func(sample int) faultsim.Adapter {
			a := make(sample)
			a.Accept = map[string]string{"conforms": "the model may give up"}
			return a
		}})
		s.Hard, s.Soft = nil, nil
		matrix.Sample(t, s)
	},
	// Traces that were recorded elsewhere, held to what real time lets be seen.
	"recorded": func(t *testing.T) {
		v := recordedVariant(t, "model-a", fakeModel{nags: 0.3}, 20)
		v.Version = "2026-10"
		matrix.Sample(t, matrix.Samples{Scenarios: weatherScenarios, Variants: []matrix.Variant{v}, Soft: weatherSoft})
	},
	"misfit": func(t *testing.T) {
		s := sampled(3, variant("model-a", "", careful))
		s.Scenarios = []matrix.Scenario{{Name: "conflict", Schedule: faultsim.One(faultsim.Fail(trace.Conflict))}, {Name: "calm"}}
		s.Soft = nil
		matrix.Sample(t, s)
	},
	"never-applied": func(t *testing.T) {
		s := sampled(3, variant("model-a", "", careful))
		s.Scenarios, s.Soft = s.Scenarios[:1], nil
		matrix.Sample(t, s)
	},
}

func TestSampleReadsWell(t *testing.T) {
	for name := range samplings {
		t.Run(name, func(t *testing.T) {
			out, _ := selftest.Run(t, t.TempDir(), "TestSampling/"+name, "-test.v")
			out = regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(out, "_test.go:1")
			gold.Equal(t, filepath.Join("testdata", "sample-"+name+".golden"), out)
		})
	}
}

func TestSampling(t *testing.T) {
	if !selftest.Active() {
		t.Skip("run by TestSampleReadsWell")
	}
	for name, run := range samplings {
		t.Run(name, run)
	}
}

// The engine returns what the door reports, and the same each time, on any number
// of cores.
func TestPlaySamplesReturnsWhatTheSamplesCameTo(t *testing.T) {
	s := sampled(60, variant("model-a", "2026-10", fakeModel{strays: 0.05, mishears: 0.2}))
	first, err := matrix.PlaySamples(t, s)
	require.NoError(t, err)
	require.Len(t, first.Cells, 3)
	calm := first.Cells[0]
	require.Equal(t, "calm", calm.Scenario)
	require.Equal(t, "assistant/v1", calm.Policy)
	require.Len(t, calm.Broken, 1)
	broken := calm.Broken[0]
	require.Equal(t, "allowed-tools", broken.Finding.Invariant)
	require.Equal(t, matrix.Rate{Passed: 60 - len(broken.Samples), Of: 60}, calm.Kept)
	require.NotEmpty(t, invariants.Find(broken.Trace, invariants.AllowedTools("weather")))
	require.False(t, askedForPune(calm.Checks[0].Trace))
	for _, sample := range broken.Samples { // each can be seen again by its number
		r := faultsim.Trial(t, s.Variants[0].Adapter(sample), faultsim.Schedule{})
		require.NotEmpty(t, invariants.Find(r.Trace, invariants.AllowedTools("weather")), sample)
	}
	for range 5 {
		again, err := matrix.PlaySamples(t, s)
		require.NoError(t, err)
		require.Equal(t, first.String(), again.String())
	}
}

// Code with package-level state is sampled one at a time.
func TestSamplesOfASerialAdapterAreInTurn(t *testing.T) {
	under, most := 0, 0 // not guarded: the race detector sees where two run at once
	s := sampled(20, matrix.Variant{Name: "model-a", Adapter: func(sample int) faultsim.Adapter {
		a := model(careful)(sample)
		a.Serial = true
		subject := a.Subject
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			act := subject(s)
			return func(ctx context.Context) (any, error) {
				under++
				most = max(most, under)
				defer func() { under-- }()
				return act(ctx)
			}
		}
		return a
	}})
	_, err := matrix.PlaySamples(t, s)
	require.NoError(t, err)
	require.Equal(t, 1, most)
}

// A rule can be asked of most samples only.
func TestKeepsMakesASoftCheckOfARule(t *testing.T) {
	s := sampled(40, variant("model-a", "", fakeModel{strays: 0.2}))
	s.Hard = func(invariants.Contract) []invariants.Invariant {
		return []invariants.Invariant{invariants.StopAfterSuccess()}
	}
	s.Soft = []matrix.Soft{{Name: "kept to its tools", Pass: matrix.Keeps(invariants.AllowedTools("weather"))}}
	got, err := matrix.PlaySamples(t, s)
	require.NoError(t, err)
	for _, c := range got.Cells {
		require.Empty(t, c.Broken)
		require.Equal(t, matrix.Unasked, c.Checks[0].Verdict)
		require.Less(t, c.Checks[0].Rate.Passed, 40)
		require.Greater(t, c.Checks[0].Rate.Passed, 20)
	}
}
