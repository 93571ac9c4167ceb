package faultsim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

const canary = "key=canary-41 at db7.internal"

// discreet is a rule of the user's own: what a tool says in a failure does not
// get into the error that the model reads, which is a line and no more.
var discreet = invariants.Invariant{
	Name: "discreet", Rule: "an error for the model is short and holds no secret",
	Check: func(tr *trace.Trace) (v invariants.Verdict) {
		for _, a := range tr.Actions() {
			if a.Error == "" {
				continue
			}
			v.Applied++
			if strings.Contains(a.Error, canary) || len(a.Error) > 200 {
				v.Findings = append(v.Findings, invariants.Finding{
					Invariant: "discreet", Action: a.Name, Events: []int{a.EndEvent},
					Text: "the error tells what the model must not see", Advice: "say the class of the failure and one sentence of your own",
				})
			}
		}
		return v
	},
}

// A briefError keeps the error for errors.Is and says less.
type briefError struct{ cause error }

func (e *briefError) Error() string { return "weather: the forecast is not to be had now" }
func (e *briefError) Unwrap() error { return e.cause }

// told plugs in the forecast with the rule; brief says whether its errors are.
func told(brief bool) faultsim.Adapter {
	a := forecasts()
	subject := a.Subject
	a.Invariants = []invariants.Invariant{discreet}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		ask := subject(s)
		return func(ctx context.Context) (any, error) {
			celsius, err := ask(ctx)
			if err != nil && brief {
				err = &briefError{err}
			}
			return celsius, err
		}
	}
	return a
}

// A canary in the words of a failure shows whether they get through.
func TestASecretInTheWordsOfAFailureIsFound(t *testing.T) {
	for _, words := range []string{canary, canary + strings.Repeat("\n\tat frame", 500), strings.Repeat("frame ", 500)} {
		spills := faultsim.One(faultsim.Fault{Class: trace.Invalid, Say: words})
		if r := faultsim.Trial(t, told(true), spills); r.Err != nil || len(r.Findings) > 0 {
			t.Errorf("the brief error: %v, %v", r.Findings, r.Err)
		}
		r := faultsim.Trial(t, told(false), spills)
		if r.Err != nil || len(r.Findings) != 1 || r.Findings[0].Invariant != "discreet" {
			t.Errorf("the error with all words: %v, %v", r.Findings, r.Err)
		}
	}
	faultsim.Check(t, told(true))
}
