package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Sampled is what samples came to.
type Sampled struct {
	Confidence float64 // of the intervals
	Cells      []Cell  // scenario by scenario, in it variant by variant
}

// A Cell is one variant in one scenario.
type Cell struct {
	Scenario, Variant string
	Version           string   // of the variant; empty: not known
	Policy            string   // ID of the policy that it was held to
	Kept              Rate     // samples that keep all hard rules
	Broken            []Breach // findings of hard rules, those that say the same once
	Accepted          []Breach // those that the adapter accepts
	Checks            []Check  // the soft checks that apply

	schedule *faultsim.Schedule
	recorded bool
}

// A Breach is a finding of a hard rule, and the samples in which the same rule was
// broken in the same words.
type Breach struct {
	Finding invariants.Finding // of the first of them
	Samples []int              // their numbers, from 1, in order
	Trace   *trace.Trace       // of the first

	all []invariants.Finding // of that sample
}

// A Check is what a soft check came to in a cell.
type Check struct {
	Name    string
	Rate    Rate
	AtLeast float64 // 0: nothing was asked
	Verdict Verdict
	Failed  int          // number of the first sample that did not pass; 0: all did
	Trace   *trace.Trace // of that sample
}

// name is the cell's name in reports.
func (c *Cell) name() string { return label(c.Variant, c.Version) + " in " + c.Scenario }

// label is a variant and its version.
func label(variant, version string) string { return strings.TrimSpace(variant + " " + version) }

// cell is the cell of a row; nil: it was not played.
func (s *Sampled) cell(scenario, variant string) *Cell {
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Scenario == scenario && c.Variant == variant {
			return c
		}
	}
	return nil
}

// failing says which sample is the first that does not pass a soft check; empty:
// none, or it is no soft check.
func (s *Sampled) failing(scenario, variant, check string) string {
	c := s.cell(scenario, variant)
	if c == nil {
		return ""
	}
	for i := range c.Checks {
		if k := &c.Checks[i]; k.Name == check && k.Failed > 0 {
			return c.origin(k.Failed)
		}
	}
	return ""
}

// count adds a sample to what the hard rules came to.
func (c *Cell) count(number int, s *sampling) {
	c.Kept.Of++
	if len(s.found) == 0 {
		c.Kept.Passed++
	}
	c.Broken = repeat(c.Broken, number, s.tr, s.found)
	c.Accepted = repeat(c.Accepted, number, s.tr, s.accepted)
}

// repeat adds the findings of a sample. What is shown by the same events as a
// finding before it says the same in other words, and is not counted apart.
func repeat(list []Breach, number int, tr *trace.Trace, found []invariants.Finding) []Breach {
	for i, f := range found {
		if slices.ContainsFunc(found[:i], func(b invariants.Finding) bool { return echo(&b, &f) }) {
			continue
		}
		at := slices.IndexFunc(list, func(r Breach) bool {
			return r.Finding.Invariant == f.Invariant && r.Finding.Action == f.Action && r.Finding.Text == f.Text
		})
		switch {
		case at < 0:
			list = append(list, Breach{f, []int{number}, tr, found})
		case list[at].Samples[len(list[at].Samples)-1] != number:
			list[at].Samples = append(list[at].Samples, number)
		}
	}
	return list
}

func echo(a, b *invariants.Finding) bool {
	return a.Action == b.Action && len(a.Events) > 0 && slices.Equal(a.Events, b.Events)
}

// String is the table of all rates.
func (s *Sampled) String() string {
	cells := [][]string{{"scenario", "variant", "check", "passed", "share %", fmt.Sprintf("%s %% interval", percent(s.Confidence)), "wanted", "verdict"}}
	for i := range s.Cells {
		c := &s.Cells[i]
		cells = append(cells, s.row(c, hardRules, c.Kept, "all", c.verdict()))
		for j := range c.Checks {
			k := &c.Checks[j]
			wanted := "-"
			if k.AtLeast > 0 {
				wanted = "≥ " + percent(k.AtLeast)
			}
			cells = append(cells, s.row(c, k.Name, k.Rate, wanted, k.verdict(s.Confidence)))
		}
	}
	return s.title() + "\n" + aligned(cells)
}

func (s *Sampled) row(c *Cell, check string, r Rate, wanted, verdict string) []string {
	return []string{c.Scenario, c.Variant, check, r.String(), percent(r.Share()), r.Interval(s.Confidence).span("–"), wanted, verdict}
}

// title says what the variants are.
func (s *Sampled) title() string {
	lines := []string{"samples by scenario and variant"}
	for i := range s.Cells {
		c := &s.Cells[i]
		line := fmt.Sprintf("    %s: version %s, policy %s", c.Variant, cmp.Or(c.Version, "not known"), cmp.Or(c.Policy, "without an ID"))
		if c.recorded {
			line += ", recorded"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// verdict words what the hard rules came to.
func (c *Cell) verdict() string {
	switch {
	case len(c.Broken) > 0:
		b := &c.Broken[0]
		return fmt.Sprintf("broken: %s, %s", b.Finding.Invariant, b.often(c.Kept.Of))
	case len(c.Accepted) > 0:
		b := &c.Accepted[0]
		return fmt.Sprintf("accepted: %s, %s", b.Finding.Invariant, b.often(c.Kept.Of))
	}
	return "ok"
}

// often says in how many of all samples the finding is.
func (r *Breach) often(of int) string {
	return fmt.Sprintf("in %d of %s, the first is #%d", len(r.Samples), plural(of, "sample"), r.Samples[0])
}

// verdict words it with what would decide.
func (k *Check) verdict(confidence float64) string {
	if k.Verdict == Undecided {
		return k.Rate.undecided(k.AtLeast, confidence)
	}
	return k.Verdict.String()
}

// Of what many samples break in many ways, so much is told.
const (
	mostKinds  = 6
	mostTraces = 2
)

// brokenReport tells of broken hard rules: a line for each kind of finding, and the
// first samples that show them.
func (c *Cell) brokenReport() string {
	var b strings.Builder
	for i := range c.Broken[:min(mostKinds, len(c.Broken))] {
		r := &c.Broken[i]
		where := ""
		if r.Finding.Action != "" {
			where = r.Finding.Action + ": "
		}
		fmt.Fprintf(&b, "%s: %s, %s: %s%s\n", r.Finding.Invariant, c.name(), r.often(c.Kept.Of), where, r.Finding.Text)
	}
	if n := len(c.Broken) - mostKinds; n > 0 {
		fmt.Fprintf(&b, "and %s more\n", plural(n, "kind"))
	}
	shown := []int{}
	for i := range c.Broken {
		r := &c.Broken[i]
		if n := r.Samples[0]; !slices.Contains(shown, n) && len(shown) < mostTraces {
			shown = append(shown, n)
			fmt.Fprintf(&b, "\n%s:\n%s\n", c.origin(n), strings.TrimRight(invariants.Report(r.Trace, r.all), "\n"))
		}
	}
	if !c.recorded {
		fmt.Fprintf(&b, "schedule:\n    %s\n", strings.ReplaceAll(strings.TrimSpace(c.schedule.String()), "\n", "\n    "))
	}
	return strings.TrimRight(b.String(), "\n")
}

// origin says how to come by a sample again.
func (c *Cell) origin(sample int) string {
	if c.recorded {
		return fmt.Sprintf("sample #%d, Recorded[%q][%d]", sample, c.Scenario, sample-1)
	}
	return fmt.Sprintf("sample #%d, what Adapter(%d) makes", sample, sample)
}
