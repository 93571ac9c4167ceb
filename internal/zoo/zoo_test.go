package zoo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/matrix"
)

const killTable = "../../docs/kill-table.md"

// TestKillTable holds every faulty subject against the defaults of Check and
// of the matrix, and keeps the outcome as a table.
func TestKillTable(t *testing.T) {
	onOneCore(t)
	var g table
	for n, s := range Faulty() {
		if n%oneOf != 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			o := caught(t, s)
			g.add(s, o.Invariant(), failing(t, s))
			t.Logf("trial %d, %v to the smallest (size %d):\n%s\n%s", o.Trial, o.Took, size(o), o.Schedule, o.Findings[0])
		})
	}
	if t.Failed() || len(g.rows) != len(Faulty()) { // a -run of its own, or under the race detector
		return
	}
	text := g.String()
	t.Logf("\n%s", text)
	gold.Equal(t, killTable, text)
}

// chancy lists the subjects whose trace chance decides, and why.
var chancy = map[string]string{
	"stack-in-the-observation":  "the stack has the number of the goroutine",
	"hedges-without-limit":      "what loses is told at the instant of the end",
	"session-closed-for-all":    "two callers dial at one instant",
	"loop-sibling-left-at-work": "two calls of one turn are made and answered at one instant",

	"retry-counted-in-two-layers": "two records are written at one instant, by goroutines",
}

// ruleSeeds is how many seeds a subject has to show its rule in. A mistake can break
// several rules, and which of them the first failing trial breaks is chance.
const ruleSeeds = 12

// caught explores the subject, and wants a finding under every seed, and its rule as
// the first one under the test's own seed or one of a few others.
func caught(t *testing.T, s Specimen) faultsim.Outcome {
	t.Helper()
	o := explored(t, s)
	for n := 1; n < ruleSeeds && o.Invariant() != s.Rule; n++ {
		t.Run(fmt.Sprintf("seed-%d", n), func(t *testing.T) { o = explored(t, s) })
	}
	if o.Invariant() != s.Rule {
		t.Errorf("found as %s, wanted %s under one of %d seeds\n%s\n%s\n%s", o.Invariant(), s.Rule, ruleSeeds, o.Findings[0], o.Drawn, o.Schedule)
	}
	return o
}

// explored wants the first finding on the subject to come back.
func explored(t *testing.T, s Specimen) faultsim.Outcome {
	t.Helper()
	o, err := faultsim.Explore(t, s.Adapter)
	switch {
	case err != nil:
		t.Fatal(err)
	case o.Trial == 0:
		t.Fatalf("missed in %d trials (seed %d): %s", o.Trials, o.Seed, s.Wrong)
	case o.Rate < 1:
		t.Errorf("trial %d, seed %d comes back in %v of its runs only: %s\n%s", o.Trial, o.Seed, o.Rate, o.Findings[0], o.Drawn)
	case o.Runs > 5000:
		t.Errorf("trial %d, seed %d took %d runs to the smallest", o.Trial, o.Seed, o.Runs)
	case o.Differs != nil && chancy[s.Name] == "":
		t.Errorf("trial %d, seed %d is not deterministic: %s\n%s", o.Trial, o.Seed, o.Differs, o.Schedule)
	}
	return o
}

// failing lists the rows of the matrix that the subject fails.
func failing(t *testing.T, s Specimen) []string {
	t.Helper()
	played, err := matrix.Play(t, s.Adapter)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, p := range played {
		if p.Complaint != "" {
			rows = append(rows, p.Row.Name)
		}
	}
	return rows
}

// sharper lists rules that say more exactly what another one finds as well:
// whoever calls a tool after the cancel has not ended at the cancel either,
// whoever calls it without end passes every bound, and a tool that never learns of
// the cancel does its work all the same. What a drain makes of an action shows after
// restarts too, and in the waits what counts. A conversation that lacks something is
// rejected as well.
var sharper = map[string][]string{
	"no-attempt-after-cancel": {"ends-at-cancel"},
	"cancel-reaches-tool":     {"no-effect-after-end"},
	"drain-counted":           {"survives-restart", "waits-in-window"},
	"drain-hands-back":        {"survives-restart"},
	"one-result":              {"conversation-taken"},
	"reply-kept":              {"conversation-taken"},
	"no-spin":                 {"stop-after-success", "attempts-bounded"},

	// A call that was not offered counts as one that failed, and so does one whose
	// arguments are no JSON, an order that is obeyed
	// changes arguments, and the words of an error may have a secret in them.
	"tools-offered":   {"result-marked"},
	"arguments-whole": {"result-marked", "failures-escalate"},
	"order-ignored":   {"one-key", "same-arguments"},
	"user-raw-error":  {"user-secret"},

	// A model without a time never returns, and one that is left at work is asked again
	// before it has answered.
	"model-attempt-timeout": {"returns"},
	"model-no-overlap":      {"model-waits-in-window", "model-hint-honoured", "model-no-retry-after-refusal", "reply-kept", "one-result"},
}

// TestEachNarrowRuleIsNeeded wants, for every rule but the catch-all, a fault
// that no other narrow rule finds in a whole run.
func TestEachNarrowRuleIsNeeded(t *testing.T) {
	for n, rule := range narrow() {
		if n%oneOf != 0 {
			continue
		}
		t.Run(rule, func(t *testing.T) {
			var others []string
			for _, s := range Faulty() {
				if s.Rule != rule {
					continue
				}
				other := without(t, s, rule)
				if other == "" {
					return
				}
				others = append(others, s.Name+" is found by "+other+" too")
			}
			t.Errorf("no fault needs the rule: %v", others)
		})
	}
}

// without explores with the rule and the catch-all put aside and returns what
// is found all the same.
func without(t *testing.T, s Specimen, rule string) string {
	t.Helper()
	aside := append([]string{rule, "conforms", "model-conforms"}, sharper[rule]...)
	s.Adapter.Accept = map[string]string{}
	for _, inv := range rulesOf(s) {
		if slices.Contains(aside, inv.Name) {
			s.Adapter.Accept[inv.Name] = "put aside"
		}
	}
	s.Adapter.Trials = neededTrials
	if s.Adapter.Loop != nil {
		s.Adapter.Trials = loopTrials
	}
	o, err := faultsim.Explore(t, s.Adapter)
	if err != nil {
		t.Fatal(err)
	}
	return o.Invariant()
}

// narrow lists the rules of all policies, observations and tools under test, without the
// catch-all.
func narrow() []string {
	var names []string
	seen := map[string]bool{"conforms": true}
	for _, s := range Faulty() {
		for _, inv := range implied(s) {
			if !seen[inv.Name] {
				names = append(names, inv.Name)
			}
			seen[inv.Name] = true
		}
	}
	return names
}

// TestRightSubjects wants no finding at all. REHEARSE_TRIALS=20000 looks further.
func TestRightSubjects(t *testing.T) {
	for _, s := range Right() {
		t.Run(s.Name, func(t *testing.T) {
			s.Adapter.Trials = rightTrials
			o, err := faultsim.Explore(t, s.Adapter)
			if err != nil {
				t.Fatal(err)
			}
			if o.Trial > 0 {
				t.Errorf("trial %d, seed %d, rate %v: %s\n%s\n%s", o.Trial, o.Seed, o.Rate, o.Findings[0], o.Schedule, o.Trace.Timeline(o.Findings[0].Events...))
			}
			for _, g := range o.Gaps {
				t.Errorf("%s", g)
			}
		})
	}
}

// TestSpecimensAreLabelled wants a name of its own, a sentence and a source.
func TestSpecimensAreLabelled(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range append(Faulty(), Right()...) {
		if s.Name == "" || seen[s.Name] {
			t.Errorf("%q is empty or given twice", s.Name)
		}
		seen[s.Name] = true
	}
	for _, s := range Faulty() {
		if s.Source == "" || !strings.HasSuffix(s.Wrong, ".") {
			t.Errorf("%s lacks a source or a sentence", s.Name)
		}
	}
}

// TestRightSubjectsPassTheMatrix wants no row to fail.
func TestRightSubjectsPassTheMatrix(t *testing.T) {
	onOneCore(t)
	for _, s := range Right() {
		t.Run(s.Name, func(t *testing.T) {
			played, err := matrix.Play(t, s.Adapter)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range played {
				if p.Complaint != "" {
					t.Errorf("%s: %s\n%s", p.Row.Name, p.Complaint, p.Schedule)
				}
			}
		})
	}
}
