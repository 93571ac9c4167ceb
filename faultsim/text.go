package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

const scheduleHeader = "rehearse schedule 1"

// String is the schedule's text form, one attempt a line:
//
//	rehearse schedule 1
//	action deadline=3s
//	  weather 1 transient after=200ms
//	  weather 2 throttled hint=2s
//	action after=30s cancel=1.5s
//	outage weather from=1s to=3s transient
//	quota weather 3 per=1m0s
//	bucket weather 5 every=200ms
//	jitter greatest
//	seed 7
//	serial weather
//	expiry at=1.5s
//	calm at=30s
//	at-once
//
// [Parse] reads it back. Attempts that are not listed are answered at once, and
// those that the schedule answers at once are not listed.
func (s Schedule) String() string {
	var b strings.Builder
	b.WriteString(scheduleHeader + "\n")
	for _, p := range s.plans() {
		p.write(&b)
	}
	s.writeSpells(&b)
	if s.AtOnce {
		b.WriteString("at-once\n")
	}
	return b.String()
}

func (p *Plan) write(b *strings.Builder) {
	b.WriteString("action")
	if p.Again {
		b.WriteString(" again")
	}
	option(b, "after", p.After)
	option(b, "deadline", p.Deadline)
	if p.Cancel < 0 {
		b.WriteString(" cancel=before")
	} else {
		option(b, "cancel", p.Cancel)
	}
	p.writeServed(b)
	p.writeCrashes(b)
	b.WriteString("\n")
	for _, tool := range slices.Sorted(maps.Keys(p.Faults)) {
		for i, f := range p.Faults[tool] {
			if !f.plain() {
				fmt.Fprintf(b, "  %s %d ", wordText(tool), i+1)
				f.write(b)
				b.WriteString("\n")
			}
		}
	}
}

// plain reports whether the fault is an answer at once.
func (f *Fault) plain() bool {
	g := *f
	g.Class = 0
	return f.class() == trace.OK && g == Fault{}
}

func (f *Fault) write(b *strings.Builder) {
	answers := f.class() == trace.OK // which is not said where something else is
	if answers && f.Hang {
		b.WriteString("hang")
	} else if answers && f.Panic {
		b.WriteString("panic")
	} else {
		b.WriteString(f.class().String())
	}
	if f.Empty {
		b.WriteString(" empty")
	}
	if f.Items != "" {
		b.WriteString(" items=" + string(f.Items))
	}
	option(b, "hint", f.Hint)
	if f.Form != HintSeconds {
		b.WriteString(" form=" + string(f.Form))
	}
	option(b, "after", f.Latency)
	for _, flag := range []struct {
		set  bool
		name string
	}{{f.Hang && !answers, "hang"}, {f.Done, "done"}, {f.Deaf, "deaf"}, {f.Panic && (f.Hang || !answers), "panic"}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	option(b, "cancel", f.Cancel)
	option(b, "crash", f.Crash)
	option(b, "drain", f.Drain)
	f.writeWords(b)
	option(b, "work", f.Work)
	option(b, "body", f.Body)
	if f.Twice {
		b.WriteString(" twice")
	}
	option(b, "valid", f.Valid)
	if f.Move != MoveNone {
		b.WriteString(" move=" + string(f.Move))
	}
}

func option(b *strings.Builder, name string, d time.Duration) {
	if d != 0 {
		b.WriteString(" " + name + "=" + d.String())
	}
}

// wordText quotes a name where it would not read back as one word.
func wordText(name string) string {
	if name == "" || strings.ContainsAny(name, " \t\"\n#") || strconv.Quote(name) != `"`+name+`"` {
		return strconv.Quote(name)
	}
	return name
}

// A ParseError is a line of a schedule or case file that cannot be read.
type ParseError struct {
	Line int    // from 1
	Text string // what is wrong, and the fix
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Parse reads a schedule's text form. It is strict: what it does not know is
// an error of type [*ParseError] that names the line. Empty lines and lines
// that begin with # are passed over.
func Parse(text string) (Schedule, error) { return parse(text, 1) }

func parse(text string, line int) (Schedule, error) {
	p := parser{line: line - 1}
	for l := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		p.line++
		if err := p.read(strings.TrimRight(l, "\r\n")); err != nil {
			return Schedule{}, err
		}
	}
	if !p.begun {
		return Schedule{}, p.errorf("the schedule is empty: begin with %q", scheduleHeader)
	}
	if len(p.s.Actions) == 0 {
		return Schedule{}, p.errorf("the schedule has no action: add a line %q", "action")
	}
	p.tidy()
	return p.s, nil
}

// tidy takes attempts at the end of a list that are answered at once out, as
// the text form does.
func (p *parser) tidy() {
	for i := range p.s.Actions {
		plan := &p.s.Actions[i]
		for tool, list := range plan.Faults {
			for len(list) > 0 && list[len(list)-1].plain() {
				list = list[:len(list)-1]
			}
			if plan.Faults[tool] = list; len(list) == 0 {
				delete(plan.Faults, tool)
			}
		}
		if len(plan.Faults) == 0 {
			plan.Faults = nil
		}
	}
}

type parser struct {
	s     Schedule
	line  int
	begun bool
	total int // attempts up to now, those between the listed ones included
}

func (p *parser) errorf(format string, args ...any) error {
	return malformed(max(p.line, 1), format, args...)
}

// malformed is what is wrong with a line. What stands there is repeated as far as a
// message should go.
func malformed(line int, format string, args ...any) error {
	for i := range args {
		switch a := args[i].(type) {
		case string:
			args[i] = brief(a, 200)
		case error:
			args[i] = brief(a.Error(), 1000)
		}
	}
	return &ParseError{line, fmt.Sprintf(format, args...)}
}

// byteOrderMark is what some editors put in front of a text.
const byteOrderMark = "\ufeff"

// brief is the begin of a text that is longer than a message should be, in bytes.
func brief(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (p *parser) read(line string) error {
	words, err := split(line)
	if err != nil {
		return p.errorf("%v", err)
	}
	switch {
	case len(words) == 0:
		return nil
	case !p.begun:
		if strings.TrimSpace(line) != scheduleHeader {
			return p.errorf("the first line is %q, not %q: this is another file or another version", line, scheduleHeader)
		}
		p.begun = true
		return nil
	case words[0] == "action" && !indented(line):
		p.s.Actions = append(p.s.Actions, Plan{})
		return p.options(words[1:], p.planOption)
	case words[0] == "outage" && !indented(line):
		return p.outage(words)
	case words[0] == "quota" && !indented(line):
		return p.quota(words)
	case words[0] == "bucket" && !indented(line):
		return p.bucket(words)
	case words[0] == "jitter" && !indented(line):
		return p.jitter(words)
	case words[0] == "seed" && !indented(line):
		return p.seed(words)
	case words[0] == "serial" && !indented(line):
		return p.serial(words)
	case words[0] == "expiry" && !indented(line):
		return p.expiry(words)
	case words[0] == "calm" && !indented(line):
		return p.calm(words)
	case words[0] == "at-once" && !indented(line):
		if p.s.AtOnce || len(words) > 1 {
			return p.errorf("at-once stands once and alone on its line")
		}
		p.s.AtOnce = true
		return nil
	case !indented(line):
		return p.errorf("unknown word %q: a line begins with action, outage, quota, bucket, jitter, seed, serial, expiry, calm or at-once, or is indented below an action", words[0])
	}
	return p.fault(words)
}

func indented(line string) bool { return line[0] == ' ' || line[0] == '\t' }

// fault reads "TOOL ATTEMPT CLASS [options]".
func (p *parser) fault(words []string) error {
	if len(p.s.Actions) == 0 {
		return p.errorf("an attempt stands above the first action: put a line %q before it", "action")
	}
	if len(words) < 3 {
		return p.errorf("an attempt reads TOOL NUMBER CLASS, such as %q", "weather 1 transient")
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 || n > maxAttempt {
		return p.errorf("attempt %q is no number from 1 to %d: attempts are counted from 1", words[1], maxAttempt)
	}
	var f Fault
	switch words[2] {
	case "hang":
		f.Hang = true
	case "panic":
		f.Panic = true
	default:
		if err := f.Class.UnmarshalText([]byte(words[2])); err != nil {
			return p.errorf("unknown class %q; known are %v and hang; a sink can panic as well", words[2], trace.Classes())
		}
	}
	if f.Class == trace.OK {
		f.Class = 0
	}
	if err := p.options(words[3:], func(name, value string) error {
		if name == words[2] && (name == "hang" || name == "panic") {
			return fmt.Errorf("%s is given twice: take one out", name)
		}
		return f.option(name, value)
	}); err != nil {
		return err
	}
	if f.Hang && f.Latency > 0 {
		return p.errorf("hang and after= contradict each other: a tool that hangs does not answer; take one out")
	}
	if f.Form != HintSeconds && f.Hint == 0 {
		return p.errorf("form= stands without hint=: say how long the wait is that the tool asks for, or take form= out")
	}
	if f.validBody() != nil {
		return p.errorf("body= is about the answer of a success, and about one that breaks (reset) or stops (hang) half-way: take it out, or change the class")
	}
	if f.Move != MoveNone && f.validMove() != nil {
		return p.errorf("move= is about a turn that the model answers, and this one fails: say ok, or take move= out")
	}
	if f.packed() && f.validWords() != nil {
		return p.errorf("say= and wrap= are the look of an error, and this attempt plans none: take them out")
	}
	return p.place(words[0], n, f)
}

// maxAttempt bounds the attempts of a schedule that is read, over all lists: a
// line of a hostile file must not cost gigabytes.
const maxAttempt = 100_000

// place stores the fault of an attempt; attempts come in rising order.
func (p *parser) place(tool string, n int, f Fault) error {
	plan := &p.s.Actions[len(p.s.Actions)-1]
	if plan.Faults == nil {
		plan.Faults = map[string][]Fault{}
	}
	list := plan.Faults[tool]
	if n <= len(list) {
		return p.errorf("attempt %d of %s comes after attempt %d: list each once, in rising order", n, tool, len(list))
	}
	if p.total += n - len(list); p.total > maxAttempt {
		return p.errorf("the schedule plans more than %d attempts: take some out", maxAttempt)
	}
	plan.Faults[tool] = append(append(list, make([]Fault, n-1-len(list))...), f)
	return nil
}

func (p *parser) options(words []string, set func(name, value string) error) error {
	seen := map[string]bool{}
	for _, w := range words {
		name, value, valued := strings.Cut(w, "=")
		if seen[name] {
			return p.errorf("%s is given twice: take one out", name)
		}
		if seen[name] = true; valued && value == "" {
			return p.errorf("%s= has no value: give it one, or take it out", name)
		}
		if err := set(name, value); err != nil {
			return p.errorf("%v", err)
		}
	}
	return nil
}

func (p *parser) planOption(name, value string) (err error) {
	plan := &p.s.Actions[len(p.s.Actions)-1]
	switch name {
	case "again":
		plan.Again, err = true, bare(name, value)
	case "after":
		plan.After, err = positive(name, value)
	case "deadline":
		plan.Deadline, err = positive(name, value)
	case "cancel":
		if plan.Cancel, err = -1, nil; value != "before" {
			plan.Cancel, err = positive(name, value)
		}
	case "key":
		plan.Key, err = keyNumber(value)
	case "other":
		plan.Other, err = true, bare(name, value)
	case "crash-before-write":
		plan.CrashBeforeWrite, err = numbered(name, value)
	case "crash-after-write":
		plan.CrashAfterWrite, err = numbered(name, value)
	case "grace":
		plan.Grace, err = positive(name, value)
	case "restart":
		plan.Restart, err = positive(name, value)
	default:
		err = fmt.Errorf("unknown option %q of an action; known are again, after=, deadline=, cancel=, crash-before-write=, crash-after-write=, grace=, restart=, key=, other", name)
	}
	return err
}

func (f *Fault) option(name, value string) (err error) {
	switch name {
	case "items":
		f.Items, err = parseItems(value)
	case "hint":
		f.Hint, err = positive(name, value)
	case "form":
		f.Form = HintForm(value)
		if f.Form == HintSeconds || !slices.Contains(hintForms, f.Form) {
			err = fmt.Errorf("form is %q; known are form=date, form=skewed and form=ms", value)
		}
	case "after":
		f.Latency, err = positive(name, value)
	case "cancel":
		f.Cancel, err = positive(name, value)
	case "crash":
		f.Crash, err = positive(name, value)
	case "drain":
		f.Drain, err = positive(name, value)
	case "hang":
		f.Hang, err = true, bare(name, value)
	case "empty":
		f.Empty, err = true, bare(name, value)
	case "done":
		f.Done, err = true, bare(name, value)
	case "deaf":
		f.Deaf, err = true, bare(name, value)
	case "say":
		f.Say = value
	case "advice":
		if err = f.Advice.UnmarshalText([]byte(value)); err != nil || f.Advice == trace.AdviceNone {
			err = fmt.Errorf("advice is %q; known are advice=retry and advice=stop", value)
		}
	case "wrap":
		f.Wrap, err = wrapForm(value)
	case "work":
		f.Work, err = positive(name, value)
	case "body":
		f.Body, err = positive(name, value)
	case "twice":
		f.Twice, err = true, bare(name, value)
	case "panic":
		f.Panic, err = true, bare(name, value)
	case "valid":
		f.Valid, err = positive(name, value)
	case "move":
		f.Move = Move(value)
		if f.Move.validate() != nil {
			err = fmt.Errorf("move is %q; known are %q", value, moves)
		}
	default:
		err = fmt.Errorf("unknown option %q of an attempt; known are empty, items=, hint=, form=, after=, hang, done, deaf, cancel=, crash=, drain=, say=, advice=, wrap=, work=, body=, twice, panic, valid=, move=", name)
	}
	return err
}

func bare(name, value string) error {
	if value != "" {
		return fmt.Errorf("%s takes no value: write %s alone", name, name)
	}
	return nil
}

func duration(name, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil && strings.ContainsAny(value, "0123456789") && !strings.Contains(err.Error(), "unit"):
		return 0, fmt.Errorf("%s=%s is no duration such as 1.5s, or longer than 290 years", name, value)
	case err != nil:
		return 0, fmt.Errorf("%s=%s is no duration: write a number and a unit, such as %s=1.5s", name, value, name)
	case d == 0:
		return 0, fmt.Errorf("%s=%s is nothing: take it out", name, value)
	}
	return d, nil
}

func positive(name, value string) (time.Duration, error) {
	d, err := duration(name, value)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s=%s is negative: times are counted forward", name, value)
	}
	return d, err
}

// split cuts a line into words; a word in double quotes is a Go string, and so
// is the value of say=. A word
// that begins with # begins a comment.
func split(line string) ([]string, error) {
	var words []string
	for rest := strings.TrimLeft(line, " \t"); rest != "" && rest[0] != '#'; rest = strings.TrimLeft(rest, " \t") {
		if text, ok := strings.CutPrefix(rest, sayOption); ok && strings.HasPrefix(text, `"`) {
			value, after, err := quotedWord(text, line)
			if err != nil {
				return nil, err
			}
			words, rest = append(words, sayOption+value), after
			continue
		}
		if rest[0] != '"' {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			words, rest = append(words, rest[:end]), rest[end:]
			continue
		}
		word, after, err := quotedWord(rest, line)
		if err != nil {
			return nil, err
		}
		words, rest = append(words, word), after
	}
	return words, nil
}
