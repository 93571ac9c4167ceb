package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Gap is something that the trials of a run had to meet and have not: a check of
// it would have passed whatever the code does.
type Gap struct {
	Label  string // see [Coverage]
	Text   string // what is missing, with numbers; useful alone
	Advice string // what to do about it
}

// String is the gap in two lines.
func (g Gap) String() string {
	return fmt.Sprintf("%s: %s\n    advice: %s\n", g.Label, g.Text, g.Advice)
}

const (
	// enoughTrials is how many trials it takes to demand that something is met at all.
	enoughTrials = 500

	// enoughDue is how many trials have to call a tool for which faults of a kind are
	// planned, before one of them must have been shown. In right programs at least a
	// tenth of such trials show it, so that none of them does by chance once in forty
	// thousand runs.
	enoughDue = 100
)

// A demand holds the coverage of a run to what applies to the adapter.
type demand struct {
	c *check
	d *drawer
	Coverage
	gaps []Gap
	void []string // rules that need not apply, and did not, with the reason
	open []string // required shares that a run which may not go on has not decided
}

// demand judges what the trials have met.
func (c *check) demand() demand {
	m := demand{c: c, d: c.drawer, Coverage: c.coverage()}
	if m.Trials >= enoughTrials {
		m.doubles()
		m.rules()
	}
	m.unreachable()
	m.shares()
	return m
}

func (m *demand) lack(label, advice, format string, args ...any) {
	if _, ok := m.c.a.Unreachable[label]; !ok {
		m.gaps = append(m.gaps, Gap{label, fmt.Sprintf(format, args...), advice})
	}
}

// doubles wants each double called for which faults were planned, and what was
// planned for it shown.
func (m *demand) doubles() {
	for _, name := range m.c.doubles {
		label := toolLabel + name
		switch {
		case m.Labels[label] > 0:
			m.kinds(name)
		case m.Due[label] > 0 && !m.c.a.barred(name):
			m.lack(label, "hand the double of that name to the code under test; or take it off the stage; or say in Unreachable why no trial calls it",
				"was never called, and faults were planned for it in %d of %d trials; %s", m.Due[label], m.Trials, m.called())
		}
	}
}

// called words which doubles were called.
func (m *demand) called() string {
	names := slices.DeleteFunc(slices.Clone(m.c.doubles), func(name string) bool { return m.Labels[toolLabel+name] == 0 })
	if len(names) == 0 {
		return "nothing on the stage was called"
	}
	return "called were " + strings.Join(quoted(names), ", ")
}

// barred reports whether the contract forbids the call of the tool, which then
// stands on the stage to show that it is not called.
func (a *Adapter) barred(name string) bool {
	return len(a.Allowed) > 0 && !slices.Contains(a.Allowed, name) ||
		a.Loop != nil && len(a.Loop.Tools) > 0 && !slices.Contains(a.Loop.Tools, name)
}

// kinds wants each kind of fault shown by a double that is called.
func (m *demand) kinds(name string) {
	none := true
	for kind := range kindNames {
		none = none && m.Labels[faultOf(name, kind)] == 0
	}
	for kind := range kindNames {
		label := faultOf(name, kind)
		if m.Labels[label] > 0 || m.Due[label] < enoughDue {
			continue
		}
		if none {
			m.lack(label, "hand the context of the action on to the tool, so that its calls are known to be of that action; faults are planned for the calls of an action",
				"was planned in %d trials that called %s, and so were others, and none ever reached it: its calls are of no action", m.Due[label], name)
			return
		}
		m.lack(label, "look at which attempts of the tool the trials make; or say in Unreachable why none of them can meet it",
			"was planned in %d trials that called %s, and never reached it", m.Due[label], name)
	}
}

// rules wants each rule able to fail.
func (m *demand) rules() {
	for i := range m.c.invs {
		inv := &m.c.invs[i]
		label := ruleLabel + inv.Name
		if m.Labels[label] > 0 {
			continue
		}
		if i < len(m.c.a.Invariants) {
			if !inv.MayIdle() {
				m.lack(label, "bring about what it is about, say WhereItApplies, or say in Unreachable why no trial does",
					"never applied in %d trials, which says that nothing in them could have broken it", m.Trials)
			}
			continue
		}
		if why := m.d.idle(inv.Name); why != "" {
			m.void = append(m.void, inv.Name+": "+why)
			continue
		}
		m.lack(label, howMet(inv.Name)+"; or say in Unreachable why no trial does",
			"never applied in %d trials, which says that nothing in them could have broken it (%s)", m.Trials, inv.Rule)
	}
}

// howMet says how a rule comes to apply.
func howMet(rule string) string {
	switch rule {
	case "cached-failure", "cache-fresh", "cache-hit-no-call":
		return "tell of each answer that the cache gives, by Stage.Hit"
	}
	return "let the doubles show what it is about, in Errors or in the Failures of a Route"
}

// idle is why the rule need never apply; empty: it must.
func (d *drawer) idle(rule string) string {
	if why, ok := mayIdle[rule]; ok {
		if reason := why(d); reason != "" {
			return reason
		}
	}
	if d.declared != nil {
		return "what trials meet is for the profile to say"
	}
	return ""
}

// unreachable reports what the adapter calls unreachable and was met.
func (m *demand) unreachable() {
	for _, label := range slices.Sorted(maps.Keys(m.c.a.Unreachable)) {
		if n := m.Labels[label]; n > 0 {
			m.gaps = append(m.gaps, Gap{label,
				fmt.Sprintf("Unreachable lists it (%q), and %d of %d trials met it", strings.TrimSpace(m.c.a.Unreachable[label]), n, m.Trials),
				"take it out of Unreachable"})
		}
	}
}
