package invariants

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-go/rehearse/trace"
)

// A divergence is one difference between steps and calls.
type divergence struct {
	text, advice string
	events       []int
}

// diverges reports the first difference, with the number of all and both lists.
func (v *Verdict) diverges(a *trace.Action, c *comparison) {
	var first divergence
	n := 0
	for row := range c.rows {
		if !c.differs(row) {
			continue
		}
		if n++; n == 1 {
			first = c.word(a, row)
		}
	}
	if n == 0 {
		return // the first choice of calls did not do, and this one does
	}
	if n > 1 {
		first.text += fmt.Sprintf("; %d differences in all", n)
	}
	v.report(a, first.text, first.advice, first.events...)
	if len(c.rows) > 1 {
		v.Findings[len(v.Findings)-1].Detail = c.table()
	}
}

// differs reports whether the row is a difference of its own.
func (c *comparison) differs(row int) bool {
	switch r := c.rows[row]; {
	case r.call < 0:
		return c.lacks(row)
	case r.step < 0:
		return c.only && c.moved[row] < 0
	default:
		return !c.does(r.step, r.call)
	}
}

// lacks reports whether the step of the row needs a call, and none can come for it
// any more.
func (c *comparison) lacks(row int) bool {
	return c.all && !(c.open && c.last(row))
}

// last reports whether no call follows in or behind the row. Where order is free,
// none has to.
func (c *comparison) last(row int) bool {
	for _, r := range c.rows[row:] {
		if c.ordered && r.call >= 0 {
			return false
		}
	}
	return true
}

// word says what is wrong in the row.
func (c *comparison) word(a *trace.Action, row int) divergence {
	r := c.rows[row]
	switch {
	case r.step < 0:
		return c.wordExtra(r.call)
	case r.call < 0:
		if other := c.moved[row]; other >= 0 {
			return c.wordMoved(row, other)
		}
		return c.wordMissing(a, r.step)
	case c.steps[r.step].tool != c.calls[r.call].at.Tool:
		k := &c.calls[r.call]
		return divergence{
			fmt.Sprintf("step %d: %s was called instead of %s (%s)", r.step+1, k.at.Tool, c.label(r.step), c.when(r.call)),
			"look at what made the program choose another tool", []int{k.at.Event},
		}
	}
	return c.wordArgs(r.step, r.call)
}

// when is the place of a call among those that count, and its instant.
func (c *comparison) when(call int) string {
	return fmt.Sprintf("call %d, at %v", call+1, c.calls[call].at.Begin)
}

// label is a step's tool, and all of the step where the tool alone would not tell
// it from another.
func (c *comparison) label(step int) string {
	if c.wanted(c.steps[step].tool) > 1 {
		return cut(c.steps[step].String(), 120)
	}
	return c.steps[step].tool
}

func (c *comparison) wanted(tool string) (n int) {
	for i := range c.steps {
		if c.steps[i].tool == tool {
			n++
		}
	}
	return n
}

func (c *comparison) called(tool string) (n int) {
	for i := range c.calls {
		if c.calls[i].at.Tool == tool {
			n++
		}
	}
	return n
}

func (c *comparison) wordExtra(call int) divergence {
	k := &c.calls[call]
	d := divergence{advice: "leave the call out, or add it to the trajectory", events: []int{k.at.Event}}
	switch c.method {
	case "Exact":
		d.advice = "leave the call out, or say InOrder where calls may come between the steps"
	case "Unordered":
		d.advice = "leave the call out, or say AtLeast where other calls may be made"
	}
	tool := k.at.Tool
	switch want, got := c.wanted(tool), c.called(tool); {
	case len(c.steps) == 0:
		d.text = fmt.Sprintf("%s was called, and no call is wanted (%s)", tool, c.when(call))
		d.advice = "leave the call out"
	case want == 0:
		d.text = fmt.Sprintf("%s is not in the trajectory (%s)", tool, c.when(call))
	case got > want && c.doesForSome(call):
		d.text = fmt.Sprintf("%s was called %s instead of %s (%s)", tool, times(got), times(want), c.when(call))
	default:
		d.text = fmt.Sprintf("%s with %s is not in the trajectory (%s)", tool, short(k.args()), c.when(call))
	}
	return d
}

// doesForSome reports whether there is a step that the call would do for.
func (c *comparison) doesForSome(call int) bool {
	for i := range c.steps {
		if c.does(i, call) {
			return true
		}
	}
	return false
}

func (c *comparison) wordMissing(a *trace.Action, step int) divergence {
	tool := c.steps[step].tool
	d := divergence{advice: "look at what made the program leave the step out", events: []int{lastEvent(a)}}
	switch want, got := c.wanted(tool), c.called(tool); {
	case got == 0:
		d.text = fmt.Sprintf("step %d is missing: %s was never called", step+1, tool)
	case got < want:
		d.text = fmt.Sprintf("step %d is missing: %s was called %s instead of %s", step+1, tool, times(got), times(want))
	default:
		d.text = fmt.Sprintf("step %d is missing: %s was not called", step+1, cut(c.steps[step].String(), 120))
	}
	return d
}

// lastEvent is where the action could have gone on, and did not.
func lastEvent(a *trace.Action) int {
	if n := len(a.Attempts); n > 0 && !a.Ended {
		return max(a.Attempts[n-1].Event, a.Attempts[n-1].AnswerEvent)
	}
	return a.EndEvent
}

// wordMoved words a call that came out of order, with the step that it should have
// been before or behind.
func (c *comparison) wordMoved(row, other int) divergence {
	step, call := c.rows[row].step, c.rows[other].call
	d := divergence{
		fmt.Sprintf("step %d: %s was called out of order (%s)", step+1, c.label(step), c.when(call)),
		"call the tools in the order of the steps, or say Unordered where any order will do", []int{c.calls[call].at.Event},
	}
	if !c.only {
		d.advice = "call the tools in the order of the steps, or say AtLeast where any order will do"
	}
	side, toward := "after", 1
	if other < row {
		side, toward = "before", -1
	}
	for n := row + toward; n != other; n += toward {
		if r := c.rows[n]; r.step >= 0 && r.call >= 0 {
			d.text = fmt.Sprintf("step %d: %s was called %s %s, which is step %d (%s)", step+1, c.label(step), side, c.label(r.step), r.step+1, c.when(call))
			d.events = append(d.events, c.calls[r.call].at.Event)
			break
		}
	}
	return d
}

// wordArgs words a call whose arguments differ.
func (c *comparison) wordArgs(step, call int) divergence {
	s, k := &c.steps[step], &c.calls[call]
	d := deviation{list: true}
	d.from(s, k)
	where := fmt.Sprintf("step %d: %s was called with ", step+1, s.tool)
	if d.where != nil {
		return divergence{fmt.Sprintf("%s%s, which Where refuses: %s (%s)", where, short(k.args()), cut(d.where.Error(), 200), c.when(call)),
			"look at where the program takes its arguments from", []int{k.at.Event}}
	}
	const shown = 3
	var texts []string
	hidden := false
	for i, f := range d.fields {
		if hidden = hidden || f.hidden; i < shown {
			texts = append(texts, f.String())
		}
	}
	if more := len(d.fields) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d fields more", more))
	}
	advice := "look at where the program takes its arguments from, or say Partial or Only where not all of them count"
	if hidden {
		advice = "the trace holds digests in place of values: record with Recorder.Clear, or name the fields in Recorder.Keep, or compare tools alone"
	}
	return divergence{fmt.Sprintf("%s%s (%s)", where, strings.Join(texts, ", "), c.when(call)), advice, []int{k.at.Event}}
}

// String is the difference in words.
func (f fieldDiff) String() string {
	got, want := cut(f.got, 60), cut(f.want, 60)
	path := f.path
	if path != "" {
		path += " "
	}
	switch {
	case f.got == "":
		return fmt.Sprintf("no %sinstead of %s", path, want)
	case f.want == "":
		return fmt.Sprintf("%s%s instead of none", path, got)
	}
	return fmt.Sprintf("%s%s instead of %s", path, got, want)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// cut is the text, shortened to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
