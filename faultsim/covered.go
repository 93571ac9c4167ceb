package faultsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/internal/near"
	"github.com/rehearse-go/rehearse/invariants"
)

// covered fails the test for what its trials had to meet and have not, and logs what
// they have met.
func (c *check) covered() {
	c.t.Helper()
	m := c.demand()
	if len(m.gaps) > 0 {
		c.t.Errorf("%s", m.report())
	}
	c.t.Logf("%s", m.table())
}

// report is the message of gaps.
func (m *demand) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "vacuous: %s: %s\n", m.c.a.Name, counted(len(m.gaps), "demand")+" of the run not met")
	for _, g := range m.gaps {
		b.WriteString(g.String())
	}
	fmt.Fprintf(&b, "%d trials, seed %d\nrun it again: %s", m.Trials, m.c.set.seed, m.c.rerun(true))
	return b.String()
}

// table is what the run has met, and what of it was not demanded.
func (m *demand) table() string {
	var b strings.Builder
	b.WriteString(m.c.a.Name + ": " + m.Coverage.String())
	paragraph(&b, "not met", m.d.missing(m.Coverage))
	for _, why := range m.void {
		fmt.Fprintf(&b, "    need not apply: %s\n", why)
	}
	for _, open := range m.open {
		fmt.Fprintf(&b, "    not decided: %s\n", open)
	}
	if m.Trials < enoughTrials {
		fmt.Fprintf(&b, "    not demanded: %d trials are too few to want each rule able to fail, each double called and each accepted deviation met; it takes %d\n", m.Trials, enoughTrials)
	}
	return strings.TrimRight(b.String(), "\n")
}

// labelled are the adapter's own labels of a trace, or what is wrong with them.
func (a *Adapter) labelled(r *result) (labels []string, err error) {
	if a.Label == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("adapter %q: Label panicked: %v at %s: it must be able to read every trace, also one without attempts or without an end", a.Name, p, panicSite())
		}
	}()
	labels = slices.Clone(a.Label(r.tr))
	slices.Sort(labels)
	for _, label := range labels {
		if strings.TrimSpace(label) == "" || strings.ContainsAny(label, "\n\r") {
			return nil, fmt.Errorf("adapter %q: Label gives %q: a label is a line with something on it", a.Name, label)
		}
		if builtIn(label) {
			return nil, fmt.Errorf("adapter %q: Label gives %q, which is a label of rehearse's own: take another name", a.Name, label)
		}
	}
	return slices.Compact(labels), nil
}

// validateCoverage reports what makes Require and Unreachable unusable, as far as it
// shows before the stage is built.
func (a *Adapter) validateCoverage() error {
	var errs []error
	rules := make([]string, 0, len(a.Require)+len(a.Unreachable))
	if len(a.Require)+len(a.Unreachable) > 0 {
		rules = ruleLabels(a.invariants())
	}
	for _, label := range slices.Sorted(maps.Keys(a.Require)) {
		share := a.Require[label]
		if !(share > 0 && share <= 1) {
			errs = append(errs, fmt.Errorf("adapter %q: Require wants %v of %q: say a part of the trials, above 0 and up to 1", a.Name, share, label))
		}
		if _, both := a.Unreachable[label]; both {
			errs = append(errs, fmt.Errorf("adapter %q: Require wants %q, and Unreachable says that no trial meets it: take one of them out", a.Name, label))
		}
		known := builtIn(label) && (!strings.HasPrefix(label, ruleLabel) || slices.Contains(rules, label))
		if !known && (a.Label == nil || strings.HasPrefix(label, ruleLabel)) {
			errs = append(errs, fmt.Errorf("adapter %q: Require names %q, which is no label that a trial could meet: correct the name, or give it in Label%s", a.Name, label, near.Meant(label, append(rules, labelNames[:]...))))
		}
	}
	for _, label := range slices.Sorted(maps.Keys(a.Unreachable)) {
		if strings.TrimSpace(a.Unreachable[label]) == "" {
			errs = append(errs, fmt.Errorf("adapter %q: Unreachable gives no reason for %q: say why no trial meets it", a.Name, label))
		}
		demanded := strings.HasPrefix(label, toolLabel) || strings.HasPrefix(label, faultLabel) || slices.Contains(rules, label)
		if !demanded {
			errs = append(errs, fmt.Errorf("adapter %q: Unreachable names %q, which nobody demands: say \"rule NAME\", \"tool NAME\" or \"fault TOOL KIND\"%s", a.Name, label, near.Meant(label, rules)))
		}
	}
	return errors.Join(errs...)
}

func ruleLabels(invs []invariants.Invariant) []string {
	list := make([]string, len(invs))
	for i := range invs {
		list[i] = ruleLabel + invs[i].Name
	}
	return list
}

// onStage notes who stands on the stage, and reports labels of doubles that do not.
func (c *check) onStage(tools []*tool) error {
	if len(tools) > 0 {
		c.doubles = namesOf(tools[0].stage.everybody())
	}
	var known []string
	for _, name := range c.doubles {
		known = append(known, toolLabel+name)
		for kind := range kindNames {
			if kindNames[kind] != "" {
				known = append(known, faultOf(name, kind))
			}
		}
	}
	for _, label := range slices.Concat(slices.Sorted(maps.Keys(c.a.Require)), slices.Sorted(maps.Keys(c.a.Unreachable))) {
		ofDouble := strings.HasPrefix(label, toolLabel) || strings.HasPrefix(label, faultLabel)
		if ofDouble && !slices.Contains(known, label) {
			return fmt.Errorf("adapter %q: %q is of no double on the stage, or of no kind of fault: the stage has %s%s", c.a.Name, label, strings.Join(quoted(c.doubles), ", "), near.Meant(label, known))
		}
	}
	return nil
}

func quoted(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf("%q", name)
	}
	return list
}
