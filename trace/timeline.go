package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Timeline returns the trace as text for a person: a header, then one line an
// event, in columns: instant since the start, action (where there are several),
// tool and number of the attempt, what happened, details. A number such as 2.1
// is attempt 1 of the second series of that tool. Arguments and keys are shown
// once and then where they change. Lines of the marked events, given by index,
// have a '>' in the margin; indices that are none are ignored.
//
// Long runs of attempts that are alike are folded into one line, but never a
// marked event. Long values are cut, with a note of their length, and what a
// tool wrote is escaped, so that no text can pass for a line of the timeline.
// The same trace gives the same bytes.
func (t *Trace) Timeline(marked ...int) string {
	rows := t.rows()
	for _, i := range marked {
		if i >= 0 && i < len(rows) {
			rows[i].marked = true
		}
	}
	var b strings.Builder
	b.WriteString(t.title())
	rows = fold(rows)
	layout := measure(rows)
	for i := range rows {
		layout.write(&b, &rows[i])
	}
	return b.String()
}

// title is the header: what was recorded, how much, how long, when, under which policy.
func (t *Trace) title() string {
	if len(t.Events) == 0 {
		return "trace: no events\n"
	}
	var b strings.Builder
	b.WriteString("trace")
	actions := t.Actions()
	if len(actions) == 1 && actions[0].Name != "" {
		b.WriteString(" of " + plainName(actions[0].Name))
	}
	attempts := 0
	for range t.Attempts() {
		attempts++
	}
	b.WriteString(": ")
	if len(actions) > 1 {
		b.WriteString(plural(len(actions), "action") + ", ")
	}
	b.WriteString(plural(attempts, "attempt"))
	if n := t.countTurns(); n > 0 {
		b.WriteString(" in " + plural(n, "turn"))
	}
	if n := len(t.Ambiguous()); n > 0 {
		fmt.Fprintf(&b, " and %s of unknown action", plural(n, "call"))
	}
	b.WriteString(", " + span(t.Events[len(t.Events)-1].At))
	if !t.Start.IsZero() {
		b.WriteString(", from " + t.Start.UTC().Format("2006-01-02 15:04:05.999999999") + " UTC")
	}
	b.WriteString("\n")
	if len(t.Policy) > 0 {
		b.WriteString("policy " + policyName(t.Policy) + "\n")
	}
	t.titleIntentions(&b)
	return b.String() + "\n"
}

func (t *Trace) countTurns() (n int) {
	for i := range t.Actions() {
		n += len(t.Turns(i))
	}
	return n
}

// titleIntentions tells how calls multiplied that a model, or the code, made more than
// once.
func (t *Trace) titleIntentions(b *strings.Builder) {
	actions := t.Actions()
	for i := range actions {
		for _, n := range t.Intentions(i) {
			if n.Asks < 2 && n.Calls < 2 {
				continue
			}
			if len(actions) > 1 {
				b.WriteString(plainName(actions[i].Name) + ": ")
			}
			b.WriteString(n.String() + "\n")
		}
	}
}

// policyName is the policy's id, or its content where it has none.
func policyName(raw json.RawMessage) string {
	var policy struct{ ID string }
	if json.Unmarshal(raw, &policy) == nil && policy.ID != "" {
		return plainName(policy.ID)
	}
	return jsonText(Canonical(raw), longText)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A row is one line of the timeline.
type row struct {
	marked bool
	folded bool // stands for rows that were left out; only detail is set
	kind   Kind
	at     time.Duration
	action string
	who    string // tool and attempt
	verb   string
	detail string
	like   string // what makes rows alike, whatever their times are
	pace   string // the times in the detail
}

// A layout is the width of each column, in runes; 0: the column is left out.
type layout struct{ at, action, who, verb int }

func measure(rows []row) layout {
	var l layout
	several := false
	for i := range rows {
		r := &rows[i]
		if r.folded {
			continue
		}
		several = several || r.action != rows[0].action
		l.at = max(l.at, width(span(r.at)))
		l.action = max(l.action, width(r.action))
		l.who = max(l.who, width(r.who))
		l.verb = max(l.verb, width(r.verb))
	}
	if !several {
		l.action = 0
	}
	return l
}

func width(s string) int { return utf8.RuneCountInString(s) }

func (l layout) write(b *strings.Builder, r *row) {
	var line strings.Builder
	line.WriteString("  ")
	at := ""
	if !r.folded {
		at = span(r.at)
	}
	line.WriteString(strings.Repeat(" ", l.at-width(at)) + at + "  ")
	column(&line, r.action, l.action)
	if !r.folded {
		column(&line, r.who, l.who)
		column(&line, r.verb, l.verb)
	}
	line.WriteString(r.detail)
	text := strings.TrimRight(line.String(), " ")
	if r.marked {
		text = ">" + text[1:]
	}
	b.WriteString(text + "\n")
}

func column(b *strings.Builder, s string, wide int) {
	if wide > 0 {
		b.WriteString(s + strings.Repeat(" ", wide-width(s)) + "  ")
	}
}
