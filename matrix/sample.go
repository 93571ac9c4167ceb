package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/rerun"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Samples are runs of code that does not do the same each time, such as a loop that
// a model drives: each scenario, by each variant, several times.
type Samples struct {
	// Scenarios are what happens to the tools. There must be one.
	Scenarios []Scenario

	// Variants are what is compared: models, versions, prompts. There must be one.
	Variants []Variant

	// N is how many samples are played of each variant in each scenario, 100,000 at
	// most. Of recorded variants all traces are judged. 0 is an error, unless all
	// variants are recorded.
	N int

	// Hard returns the rules that every single sample must keep, of the contract
	// that a variant declares. It replaces what the contract implies, where that
	// asks of a model what only code can promise, such as that it retries at all;
	// the adapter's own Invariants are held as well. Nil: all that the contract
	// implies; of a recorded variant, without what holds instants to the nanosecond.
	Hard func(invariants.Contract) []invariants.Invariant

	// Soft are checks that most of the samples must pass.
	Soft []Soft

	// Confidence is that of the intervals, a part of 1. 0: 0.95.
	Confidence float64

	// FailUndecided fails the test where the samples are too few to say whether a
	// soft check passes often enough. False: it is logged as a warning.
	FailUndecided bool
}

// A Scenario is what happens to the tools.
type Scenario struct {
	// Name is the scenario's name in reports and files.
	Name string

	// Schedule is the faults. The zero schedule is one action and no fault.
	// Recorded variants have met the scenario elsewhere, and it is not looked at.
	Schedule faultsim.Schedule
}

// A Variant is one of the things that are compared, such as a version of a model.
// It has an Adapter, or is Recorded.
type Variant struct {
	// Name stays the same over versions: by it the variant is found again in saved
	// results, and Version says what has changed.
	Name string

	// Version is that of the model, the prompt, or what else drives the code, and is
	// told in reports and kept with results. Empty: it is not known.
	Version string

	// Adapter makes the adapter of one sample, which differs from another in what
	// its number seeds: a recorded conversation, a scripted model, a seeded fake.
	// Numbers begin at 1, and each scenario is played with the same ones. It is
	// called by one goroutine, in the order of the numbers; the number must be all
	// that the answer depends on, so that a sample can be seen again. What the
	// adapter declares must be the same for all. The samples themselves are played
	// on all cores, unless the adapter is Serial.
	Adapter func(sample int) faultsim.Adapter

	// Recorded are traces that were recorded elsewhere with a [trace.Recorder], by
	// the name of the scenario: a model that is asked over a network has no place in
	// virtual time. Each trace is a sample, and there must be some of every scenario.
	Recorded map[string][]*trace.Trace

	// Contract is what recorded traces are held to. What a trace says of the policy in
	// force, and of what is beside it, must be the same. Of a variant with an Adapter it must be zero.
	Contract invariants.Contract

	// Replaces is the name of a variant to which this one is compared row by
	// row: of this run where it is there, else of the saved results, where it can
	// be taken out when the replacement is accepted. Empty: none.
	// The variant's own saved results are compared in any case.
	Replaces string
}

// A Soft check is one that a sample may fail, and most must pass.
type Soft struct {
	// Name is the check's name in reports and files.
	Name string

	// Pass judges one sample. Go by what was done, not by how it was worded: the
	// same sentence comes in other words in the next sample. One goroutine calls it.
	Pass func(*trace.Trace) bool

	// AtLeast is the share of the samples that must pass, a part of 1 and below it:
	// what every sample must keep is a rule, see [Samples].Hard. The check fails
	// where the interval of the share lies below it, passes where it lies at or
	// above, and is undecided in between. 0: nothing is asked, and the rate is told
	// and compared.
	AtLeast float64

	// In are the names of the scenarios that the check speaks of. Empty: all.
	In []string
}

// appliesTo reports whether the check speaks of the scenario.
func (s *Soft) appliesTo(scenario string) bool {
	return len(s.In) == 0 || slices.Contains(s.In, scenario)
}

// Keeps makes a soft check of a rule: a sample passes where the rule has no finding.
func Keeps(inv invariants.Invariant) func(*trace.Trace) bool {
	return func(tr *trace.Trace) bool { return len(invariants.Find(tr, inv)) == 0 }
}

// Sample plays each scenario by each variant N times in virtual time, and judges
// all samples. A subtest for each scenario and variant fails where any sample
// breaks a hard rule, and where a soft check certainly passes too seldom. The table
// of all rates is logged at the end.
//
// With -rehearse.accept, or REHEARSE_ACCEPT=1, the rates are written to
// testdata/rehearse beside the test, with each variant's version and the content of
// what it declares. From then on each run is compared with them row by row, and a
// rate that has certainly fallen, or a row that is gone, fails until it is accepted
// in the same way. What is declared and changes under the policy's ID fails in any
// case.
//
// Factories that go by the sample's number alone give the same answer each time.
// Those that ask a real model do not, and a row at the border may then pass in one
// run and fail in another.
//
// Sample must be called outside a synctest bubble.
func Sample(t *testing.T, s Samples) {
	t.Helper()
	wordOfAccept(t)
	p, err := s.player(t)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for i := range s.Scenarios {
		t.Run(s.Scenarios[i].Name, func(t *testing.T) {
			t.Helper()
			for j := range s.Variants {
				t.Run(s.Variants[j].Name, func(t *testing.T) {
					t.Helper()
					p.report(t, i, j)
				})
			}
		})
	}
	t.Logf("%s", p.sampled.String())
	if idle := p.idle(); p.Hard != nil && len(idle) > 0 && p.whole() {
		t.Logf("warning: no sample has anything that could break %s: add a scenario that does, or take the rule out", strings.Join(idle, ", "))
	}
	if p.whole() { // -run may have picked some
		p.compare(t)
	}
}

// PlaySamples is the engine of [Sample]: it plays and judges the same samples, and
// returns what they came to instead of reporting it. It neither reads nor writes
// saved results.
func PlaySamples(t *testing.T, s Samples) (Sampled, error) {
	p, err := s.player(t)
	if err != nil {
		return Sampled{}, err
	}
	for i := range s.Scenarios {
		for j := range s.Variants {
			if _, err := p.cell(t, i, j); err != nil {
				return p.sampled, err
			}
		}
	}
	return p.sampled, nil
}

// report plays one variant in one scenario and reports what is wrong with it.
func (p *player) report(t *testing.T, scenario, variant int) {
	t.Helper()
	v := &p.Variants[variant]
	t.Attr("rehearse.policy", p.contracts[variant].Policy.ID)
	if v.Version != "" {
		t.Attr("rehearse.version", v.Version)
	}
	c, err := p.cell(t, scenario, variant)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(c.Broken) > 0 {
		t.Errorf("%s\nrun it again: %s", c.brokenReport(), rerun.Command(t.Name()))
	}
	for i := range c.Checks {
		k := &c.Checks[i]
		switch {
		case k.Verdict == TooLow:
			t.Errorf("%s", k.report(c, p.sampled.Confidence))
		case k.Verdict == Undecided && p.FailUndecided:
			t.Errorf("%s\n    FailUndecided says that this fails", k.report(c, p.sampled.Confidence))
		case k.Verdict == Undecided:
			t.Logf("warning: %s", k.report(c, p.sampled.Confidence))
		}
	}
}

// report says how often the check passed, and what was wanted.
func (k *Check) report(c *Cell, confidence float64) string {
	what := "passes too seldom"
	if k.Verdict == Undecided {
		what = k.Rate.undecided(k.AtLeast, confidence)
	}
	text := fmt.Sprintf("%s: %s: %s\n    %s samples passed; with %s %% confidence the share is %s %%, wanted at least %s %%",
		k.Name, c.name(), what, k.Rate, percent(confidence), k.Rate.Interval(confidence).span("–"), percent(k.AtLeast))
	if k.Failed > 0 {
		text += "\n    the first that did not is " + c.origin(k.Failed)
		text += "\n    " + strings.ReplaceAll(strings.TrimRight(k.Trace.Timeline(), "\n"), "\n", "\n    ")
	}
	return text
}
