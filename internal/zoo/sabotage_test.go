package zoo

import (
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
)

// namedBy is, for each sin of the stage, the rule that names it.
var namedBy = map[string]string{
	"waits-first":                 "no-first-delay",
	"calls-on-a-dead-context":     "no-call-on-dead-context",
	"one-attempt-too-many":        "attempts-bounded",
	"refusal-retried":             "no-retry-after-refusal",
	"final-word-unheeded":         "advice-heeded",
	"blind-repeat":                "one-effect",
	"long-hint-cut":               "hint-honoured",
	"budget-overrun":              "within-budget",
	"repeats-a-success":           "stop-after-success",
	"same-credential-again":       "new-credential-used",
	"rejected-arguments-again":    "rejected-payload",
	"repeats-without-asking":      "reconciled-first",
	"turns-to-another-tool":       "allowed-tools",
	"goes-past-the-breaker":       "circuit-breaker",
	"overdraws-the-allowance":     "within-allowance",
	"works-on-after-handing-over": "escalates-after",
	"wait-cut-short":              "waits-in-window",
	"wait-stretched":              "waits-in-window",
	"hint-ignored":                "hint-honoured",
	"gives-up-early":              "conforms",
	"attempt-without-a-limit":     "attempt-timeout",
	"attempt-cut-short":           "whole-attempt",
	"deadline-kept-from-the-tool": "within-deadline",
	"impatient-repeat":            "no-overlap",
	"argument-changed":            "same-arguments",
	"fresh-key":                   "one-key",
	"key-lost":                    "one-key",
	"calls-after-the-cancel":      "no-attempt-after-cancel",
	"calls-after-the-deadline":    "within-deadline",
	"sleeps-through-the-cancel":   "ends-at-cancel",
	"sleeps-through-the-deadline": "conforms",
	"cancel-kept-from-the-tool":   "cancel-reaches-tool",
	"result-dropped":              "honest-ending",
	"result-altered":              "honest-ending",
	"success-told-as-failure":     "honest-ending",
	"success-invented":            "honest-ending",
	"failure-swallowed":           "honest-ending",
	"error-replaced":              "honest-ending",
	"ends-late":                   "no-last-delay",
	"retries-behind-the-back":     "no-attempt-after-end",
	"goroutine-left":              "nothing-left",
	"never-returns":               "returns",
	"panics":                      "no-panic",
	"second-terminal":             "one-terminal",
	"terminal-withheld":           "one-terminal",
	"secret-handed-on":            "observation-secret",
	"flag-inverted":               "observation-retryable",
	"attempts-miscounted":         "observation-attempts",
}

// anotherChunk is why rules give leave to a batch in chunks.
const anotherChunk = "it may be another chunk, or another one may still be waiting"

// unread is why a success passes that is made up after a question what became of an
// attempt: what the tool answered it is in the trace, and what it means is not.
const unread = "the answer to a question what became of the attempt is not read"

// blindSpots are the sins that no rule sees in a right subject, and why.
var blindSpots = map[string]map[string]string{
	"success-invented":            {"asking-teller": unread, "persisted-job-that-asks": unread, "drained-job-that-asks": unread, "asks-once": unread},
	"failure-swallowed":           {"asking-teller": unread, "persisted-job-that-asks": unread, "drained-job-that-asks": unread, "asks-once": unread},
	"sleeps-through-the-deadline": {"paced": "the deadline fell while the call waited at the program's own limiter, where no rule says when an action ends"},
	"wait-stretched":              {"batch-in-chunks-then-the-rest": anotherChunk},
	"argument-changed":            {"batch-in-chunks-then-the-rest": anotherChunk, "batch-in-chunks": anotherChunk},
}

// TestSabotagedSubjectsAreNoticed has the stage commit every sin in the place of the
// right subjects, and wants it noticed, by the rule that names it.
func TestSabotagedSubjectsAreNoticed(t *testing.T) {
	onOneCore(t)
	named, blind, played := map[string]bool{}, map[string]bool{}, 0
	for n, s := range Right() {
		if n%oneOf != 0 || s.Adapter.Repeats != nil {
			continue // the latter is a tool under test, which is no caller
		}
		t.Run(s.Name, func(t *testing.T) {
			played++
			for _, k := range sabotaged(t, s.Adapter) {
				if slices.ContainsFunc(k.By, func(w faultsim.Witness) bool { return w.Invariant == namedBy[k.Name] }) {
					named[k.Name] = true
				}
				if !k.Blind() {
					continue
				}
				blind[k.Name] = true
				if blindSpots[k.Name][s.Name] == "" {
					t.Errorf("%s: the code %s, and nothing noticed it in %d trials\n%s\n%s", k.Name, k.Does, k.Occasions, k.Schedule, k.Trace.Timeline())
				}
			}
		})
	}
	if played < len(Right())-len(rightDesks())-len(rightDurableDesks()) || t.Failed() {
		return
	}
	for name, rule := range namedBy {
		if !named[name] {
			t.Errorf("%s is nowhere named by %s", name, rule)
		}
	}
	for name, of := range blindSpots {
		if !blind[name] && len(of) > 2 { // of fewer, chance decides
			t.Errorf("%s is noticed everywhere, and listed as a blind spot: take it out", name)
		}
	}
}

// sabotaged commits each sin a few times.
func sabotaged(t *testing.T, a faultsim.Adapter) []faultsim.Sin {
	t.Helper()
	a.Trials = sabotageTrials
	if p := &a.Policy; p.Hint.Limit > 0 || p.Key == "" && !p.Repeatable && !p.Reconcile {
		a.Trials *= 15 // hints above the limit, and lost replies that leave attempts, are seldom drawn
	}
	test := faultsim.Test{Occasions: sabotageOccasions}
	if a.Loop != nil {
		test.Occasions *= 2 // where several calls are asked for by one id, rules give leave
	}
	o, err := faultsim.ExploreSabotage(t, a, test)
	if err != nil {
		t.Fatal(err)
	}
	return o.Sins
}

const (
	sabotageTrials    = 40
	sabotageOccasions = 3 // where an audit fails, rules give leave
)
