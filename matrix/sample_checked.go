package matrix

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// mostSamples is the greatest number of samples of one variant in one scenario,
// whose traces are all in memory at once.
const mostSamples = 100_000

// hardRules is the name of the row that counts the samples which keep all of them.
const hardRules = "hard rules"

// validate reports all that makes the samples unusable. What a factory answers is
// looked at when it is called.
func (s *Samples) validate() error {
	return errors.Join(
		s.validateNumbers(),
		named("Scenarios", len(s.Scenarios), func(i int) string { return s.Scenarios[i].Name }),
		named("Variants", len(s.Variants), func(i int) string { return s.Variants[i].Name }),
		named("Soft", len(s.Soft), func(i int) string { return s.Soft[i].Name }),
		s.validateSoft(),
		s.validateVariants(),
	)
}

func (s *Samples) validateNumbers() error {
	var errs []error
	played := slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Recorded == nil })
	switch {
	case len(s.Scenarios) == 0:
		errs = append(errs, errors.New("matrix: Scenarios is empty: say what happens to the tools; the zero Schedule is no fault"))
	case len(s.Variants) == 0:
		errs = append(errs, errors.New("matrix: Variants is empty: give at least one, with the Adapter that makes its samples or the traces that were Recorded of it"))
	case s.N < 0 || s.N == 0 && played:
		errs = append(errs, fmt.Errorf("matrix: N is %d: say how many samples of each variant are played in each scenario", s.N))
	case s.N > mostSamples:
		errs = append(errs, fmt.Errorf("matrix: N is %d, and %d samples are the most: a rate does not need more", s.N, mostSamples))
	}
	if s.Confidence != 0 && !(s.Confidence >= 0.5 && s.Confidence <= 0.9999) {
		errs = append(errs, fmt.Errorf("matrix: Confidence is %v: give a part of 1 from 0.5 to 0.9999, or 0 for 0.95", s.Confidence))
	}
	return errors.Join(errs...)
}

// named reports names that are missing, used twice, or would break the lines of a
// report. As names of subtests they must differ for -run as well.
func named(field string, n int, name func(int) string) error {
	var errs []error
	seen := map[string]bool{}
	for i := range n {
		switch name := name(i); {
		case strings.TrimSpace(name) == "":
			errs = append(errs, fmt.Errorf("matrix: %s[%d] has no Name: give it one", field, i))
		case strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, "/"):
			errs = append(errs, fmt.Errorf("matrix: %s[%d] is named %q: take the slash or the control character out, which would break reports and -run", field, i, name))
		case seen[strings.ReplaceAll(name, " ", "_")]:
			errs = append(errs, fmt.Errorf("matrix: two of %s are named %q: give each its own name", field, name))
		default:
			seen[strings.ReplaceAll(name, " ", "_")] = true
		}
	}
	return errors.Join(errs...)
}

func (s *Samples) validateSoft() error {
	var errs []error
	for i := range s.Soft {
		k := &s.Soft[i]
		switch {
		case k.Name == hardRules:
			errs = append(errs, fmt.Errorf("matrix: Soft[%d] is named %q, as the row of the hard rules is: give it another name", i, k.Name))
		case k.Pass == nil:
			errs = append(errs, fmt.Errorf("matrix: Soft %q has no Pass: give the function that judges a sample", k.Name))
		}
		switch {
		case k.AtLeast == 1:
			errs = append(errs, fmt.Errorf("matrix: AtLeast of Soft %q is 1, which no number of samples can show: make it a rule of Hard, or say less than 1", k.Name))
		case math.IsNaN(k.AtLeast) || k.AtLeast < 0 || k.AtLeast > 1:
			errs = append(errs, fmt.Errorf("matrix: AtLeast of Soft %q is %v: give a part of 1, such as 0.9, or 0 to ask nothing", k.Name, k.AtLeast))
		}
		for _, name := range k.In {
			if !s.hasScenario(name) {
				errs = append(errs, fmt.Errorf("matrix: In of Soft %q names %q, which is no scenario: correct the name", k.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *Samples) hasScenario(name string) bool {
	return slices.ContainsFunc(s.Scenarios, func(sc Scenario) bool { return sc.Name == name })
}

func (s *Samples) validateVariants() error {
	var errs []error
	for i := range s.Variants {
		v := &s.Variants[i]
		c := v.Contract
		switch {
		case strings.ContainsFunc(v.Version, unicode.IsControl):
			errs = append(errs, fmt.Errorf("matrix: Version of variant %q is %q: take the control character out, which would break reports", v.Name, v.Version))
		case v.Replaces != "" && v.Replaces == v.Name:
			errs = append(errs, fmt.Errorf("matrix: variant %q Replaces itself: name another, or leave it out; its own saved results are compared in any case", v.Name))
		case v.Adapter == nil && v.Recorded == nil:
			errs = append(errs, fmt.Errorf("matrix: variant %q has neither an Adapter nor Recorded traces: give the function that makes its samples, or the traces", v.Name))
		case v.Adapter != nil && v.Recorded != nil:
			errs = append(errs, fmt.Errorf("matrix: variant %q has an Adapter and Recorded traces: make two variants of them", v.Name))
		case v.Adapter != nil && (c.Policy.ID != "" || c.Policy.MaxAttempts != 0 || !c.Plain()):
			errs = append(errs, fmt.Errorf("matrix: variant %q has an Adapter and a Contract: leave the Contract out, the adapter declares it", v.Name))
		case v.Recorded != nil:
			errs = append(errs, s.validateRecorded(v))
		}
	}
	return errors.Join(errs...)
}

// validateRecorded reports traces that cannot be judged, or not by this contract.
func (s *Samples) validateRecorded(v *Variant) error {
	var errs []error
	if err := v.Contract.Policy.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("matrix: Contract of recorded variant %q: %w", v.Name, err))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Recorded)) {
		if !s.hasScenario(name) {
			errs = append(errs, fmt.Errorf("matrix: Recorded of variant %q names %q, which is no scenario: correct the name", v.Name, name))
		}
	}
	seen := map[*trace.Trace]int{}
	for i := range s.Scenarios {
		name := s.Scenarios[i].Name
		if len(v.Recorded[name]) == 0 {
			errs = append(errs, fmt.Errorf("matrix: Recorded of variant %q has no trace of scenario %q: record some, or sample that scenario apart", v.Name, name))
		}
		for j, tr := range v.Recorded[name] {
			if wrong := v.unfit(tr, seen); wrong != "" {
				errs = append(errs, fmt.Errorf("matrix: sample #%d of scenario %q, Recorded of variant %q, %s", j+1, name, v.Name, wrong))
			}
			seen[tr]++
		}
	}
	return errors.Join(errs...)
}

// unfit says what is wrong with a recorded trace; empty: nothing.
func (v *Variant) unfit(tr *trace.Trace, seen map[*trace.Trace]int) string {
	switch {
	case tr == nil:
		return "is nil: hand over what Recorder.Trace or trace.Read returns"
	case len(tr.Events) == 0:
		return "is empty: let the code reach its tools through the recorder"
	case seen[tr] > 0:
		return "is the same trace as one before it: each sample counts once"
	case len(tr.Ambiguous()) > 0 && !attempted(tr):
		return "has only calls that could belong to several actions: pass the context of trace.Do or Recorder.Begin on to the tools"
	case len(tr.Policy) > 0 && !same(tr.Policy, v.Contract.Policy.Content()),
		len(tr.Beside) > 0 && !same(tr.Beside, v.Contract.Content()):
		return fmt.Sprintf("was recorded under another contract than %q as it is declared here: hand in the contract that was in force, as a variant of its own", v.Contract.Policy.ID)
	}
	return ""
}

func attempted(tr *trace.Trace) bool {
	for range tr.Attempts() {
		return true
	}
	return false
}

// same reports whether two JSON texts say the same.
func same(a, b []byte) bool { return string(trace.Canonical(a)) == string(trace.Canonical(b)) }

// promise is the content of what an adapter declares.
func promise(a *faultsim.Adapter) string {
	c := a.Contract()
	return string(c.Policy.Content()) + string(c.Content())
}
