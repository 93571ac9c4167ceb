package faultsim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Coverage is what the trials of a run have met: of each label, in how many of
// them. It does not depend on the number of workers. Parts of a run, as those of
// several machines, are summed by [Coverage.Add], and it reads back from JSON as it
// was written. The zero Coverage is that of no trial.
//
// The labels are
//
//	rule NAME          the invariant could have been broken
//	tool NAME          the tool, model, approver or sink was called
//	fault TOOL KIND    it has shown a fault of that kind: a class of failure, or
//	                   "lost reply", "hang", "hint", "latency", "cancel", …
//	streak N           N failures in a row in one series: 1 to 8, 16, 32, 64, 256, 1024
//	attempt timeout    the time of the attempt itself was over
//	attempt whose reply is lost
//	                   the tool has done its work, and the caller saw a failure
//	hint below the backoff, above the backoff, above the limit, beyond the deadline
//	cancel before the first call, in flight, in backoff, beside an answer
//	                   beside: a nanosecond away from it at most
//	deadline in flight, in backoff
//	actions in turn, at once, again, served from a cache
//	outage met, quota used up, bucket used up
//	process crash, drain, handback
//	end REASON         a terminal reason, by the policy
//
// and those that [Adapter].Label gives. What was planned and never came to pass has
// no label, and a trial that meets a label twice counts once.
type Coverage struct {
	Trials int            `json:"trials"`
	Labels map[string]int `json:"labels,omitempty"`

	// Due counts, for the labels "tool NAME", the trials in which faults were
	// planned for it and, for "fault TOOL KIND", those that called the tool while
	// such a fault was planned for it.
	Due map[string]int `json:"due,omitempty"`
}

const (
	ruleLabel  = "rule "
	toolLabel  = "tool "
	faultLabel = "fault "
)

func faultOf(tool string, kind int) string { return faultLabel + tool + " " + kindNames[kind] }

// Add counts the trials of another part of the same run.
func (c *Coverage) Add(d Coverage) {
	c.Trials += d.Trials
	for label, n := range d.Labels {
		c.count(&c.Labels, label, n)
	}
	for label, n := range d.Due {
		c.count(&c.Due, label, n)
	}
}

func (c *Coverage) count(in *map[string]int, label string, n int) {
	if n == 0 {
		return
	}
	if *in == nil {
		*in = map[string]int{}
	}
	(*in)[label] += n
}

// coverage is what the trials of the property have met so far.
func (c *check) coverage() (v Coverage) {
	y := &c.met
	v.Trials = y.Trials
	for i, n := range y.Labels {
		v.count(&v.Labels, labelNames[i], n)
	}
	for i, n := range y.Rules {
		label := ruleLabel + c.invs[i].Name
		v.count(&v.Labels, label, max(0, n-v.Labels[label])) // a rule of the user's may have the name of another
	}
	for label, n := range y.Own {
		v.count(&v.Labels, label, n)
	}
	for _, d := range y.Doubles {
		v.count(&v.Labels, toolLabel+d.Name, d.Called)
		v.count(&v.Due, toolLabel+d.Name, d.Planned)
		for kind := range d.Met {
			v.count(&v.Labels, faultOf(d.Name, kind), d.Met[kind])
			v.count(&v.Due, faultOf(d.Name, kind), d.Due[kind])
		}
	}
	return v
}

// groups is the order of the table. What is in none of them is the adapter's own.
var groups = []string{"tool", "fault", "streak", "attempt", "hint", "cancel", "deadline", "actions", "outage", "quota", "bucket", "process", "end", "own", "rule"}

// String is the table: a paragraph for each group of labels, with the number of
// trials that met each and its share of all trials. Rules that applied to every
// trial are counted only.
func (c Coverage) String() string {
	byGroup := map[string][]string{}
	always := 0
	for _, label := range slices.Sorted(maps.Keys(c.Labels)) {
		group, name := groupOf(label)
		if group == "rule" && c.Labels[label] >= c.Trials {
			always++
			continue
		}
		byGroup[group] = append(byGroup[group], fmt.Sprintf("%s %s", name, c.share(label)))
	}
	slices.SortStableFunc(byGroup["streak"], shortFirst)
	if always > 0 {
		byGroup["rule"] = append(byGroup["rule"], fmt.Sprintf("and %s in all", counted(always, "other")))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "met in %s:\n", counted(c.Trials, "trial"))
	for _, group := range groups {
		paragraph(&b, group, byGroup[group])
	}
	return b.String()
}

// shortFirst puts the shortFirst streak first, whose number has fewer digits.
func shortFirst(a, b string) int {
	n, _, _ := strings.Cut(a, " ")
	m, _, _ := strings.Cut(b, " ")
	if len(n) != len(m) {
		return len(n) - len(m)
	}
	return strings.Compare(n, m)
}

// groupOf is the group of the label, and its name in there.
func groupOf(label string) (group, name string) {
	group, name, _ = strings.Cut(label, " ")
	if !builtIn(label) {
		return "own", label
	}
	return group, name
}

// builtIn reports whether the label is one of rehearse's own.
func builtIn(label string) bool {
	for _, prefix := range [...]string{ruleLabel, toolLabel, faultLabel} {
		if strings.HasPrefix(label, prefix) {
			return true
		}
	}
	return slices.Contains(labelNames[:], label)
}

// share words how many trials have met the label.
func (c *Coverage) share(label string) string {
	return fmt.Sprintf("%d (%s%%)", c.Labels[label], percent(float64(c.Labels[label])/float64(max(c.Trials, 1))))
}

// percent words a share with one digit behind the point, where it has one. What would
// be none by that has two digits that count.
func percent(x float64) string {
	if x > 0 && x < 0.0005 {
		return fmt.Sprintf("%.2g", 100*x)
	}
	return fmt.Sprint(math.Round(x*1000) / 10)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// width is how long the lines of a paragraph are, where the names allow it.
const width = 110

// paragraph writes a group of the table, with its name in front.
func paragraph(b *strings.Builder, group string, list []string) {
	if len(list) == 0 {
		return
	}
	line := fmt.Sprintf("    %-9s", group)
	for i, item := range list {
		if i > 0 {
			line += ","
			if len(line)+1+len(item) > width {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", 13)
			}
		}
		line += " " + item
	}
	b.WriteString(line + "\n")
}
