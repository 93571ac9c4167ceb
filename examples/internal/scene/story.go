package scene

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// A Play is one thing that goes wrong in a run.
type Play struct {
	Name, Schedule string

	// Parallel: the model asks for two calls in one turn. Which of them a fault hits is
	// not known, so that their lines stand without arguments, in the order of the text.
	Parallel bool
}

// Plays are what every loop is told of: see the table in the README of the stacks.
var Plays = []Play{
	{Name: "nothing goes wrong"},
	{Name: "unknown tool", Schedule: "  model 1 ok move=invent\n"},
	{Name: "another tool of the program", Schedule: "  model 1 ok move=other\n"},
	{Name: "garbled arguments", Schedule: "  model 1 ok move=garble\n"},
	{Name: "arguments nobody knows", Schedule: "  model 2 ok move=extend\n"},
	{Name: "cut off within a call", Schedule: "  model 1 ok move=length\n"},
	{Name: "call without an id", Schedule: "  model 1 ok move=anonymous\n"},
	{Name: "words before the call", Schedule: "  model 1 ok move=chat\n"},
	{Name: "tool fails", Schedule: "  book 1 transient\n"},
	{Name: "tool refuses, asked again", Schedule: "  book 1 forbidden\n  model 3 ok move=again\n"},
	{Name: "tool may have acted, asked again", Schedule: "  book 1 timeout done\n  model 3 ok move=again\n"},
	{Name: "asked again after the booking", Schedule: "  model 3 ok move=again\n"},
	{Name: "never done", Schedule: "  model 2 ok move=stubborn\n"},
	{Name: "booking claimed too early", Schedule: "  model 1 ok move=claim\n"},
	{Name: "silent model", Schedule: "  model 1 ok move=silent\n"},
	{Name: "provider refuses to answer", Schedule: "  model 1 ok move=filter\n"},
	{Name: "model throttled", Schedule: "  model 1 throttled\n"},
	{Name: "model fails behind the booking", Schedule: "  model 3 transient\n  model 4 transient\n  model 5 transient\n"},
	{Name: "cancelled in a tool", Schedule: "action cancel=500ms\n  search 1 ok after=1s\n"},
	{Name: "cancelled in a turn", Schedule: "action cancel=500ms\n  model 1 ok after=1s\n"},
	{Name: "parallel calls", Parallel: true},
	{Name: "parallel calls under one id", Schedule: "  model 1 ok move=twin\n", Parallel: true},
	{Name: "parallel calls, one fails", Schedule: "  search 1 ok after=1s\n  search 2 transient\n", Parallel: true},
}

// Tell plays all plays and tells what came of each: turn by turn what the model asked
// for, how often the tool was called for it and what the model was shown of it; what
// the run returned; and each rule that it broke.
func Tell(t *testing.T, adapter func(faultsim.Script) faultsim.Adapter) string {
	t.Helper()
	var b strings.Builder
	for _, p := range Plays {
		fmt.Fprintf(&b, "== %s\n", p.Name)
		a := adapter(Straight())
		if p.Parallel {
			a = adapter(Parallel())
		}
		a.Accept = nil
		r := faultsim.Trial(t, a, p.schedule(t))
		if r.Err != nil {
			fmt.Fprintf(&b, "cannot happen: %v\n", r.Err)
		} else {
			tell(&b, &r, p.Parallel)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p Play) schedule(t *testing.T) faultsim.Schedule {
	t.Helper()
	text := p.Schedule
	if !strings.HasPrefix(text, "action") {
		text = "action\n" + text
	}
	s, err := faultsim.Parse("rehearse schedule 1\n" + text)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return s
}

func tell(b *strings.Builder, r *faultsim.Result, parallel bool) {
	for _, turn := range r.Trace.Turns(0) {
		tellTurn(b, &turn)
		tellAsks(b, turn.Asks, parallel)
	}
	switch run := &r.Trace.Actions()[0]; {
	case !run.Ended:
		b.WriteString("did not return\n")
	case run.Error != "":
		fmt.Fprintf(b, "returned the error %q\n", words(run.Error, parallel))
	default:
		fmt.Fprintf(b, "returned %s\n", run.Result)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(b, "broke %s: %s\n", f.Invariant, f.Text)
	}
}

var callID = regexp.MustCompile(`\bcall_\d+`)

// words are those of an error. Which of several calls side by side it is of, chance
// decides.
func words(text string, parallel bool) string {
	if !parallel {
		return text
	}
	return callID.ReplaceAllString(text, "one of the calls")
}

func tellTurn(b *strings.Builder, turn *trace.Turn) {
	fmt.Fprintf(b, "turn %d", turn.N)
	if n := len(turn.Calls); n > 1 {
		fmt.Fprintf(b, ", in %d requests", n)
	}
	switch {
	case turn.Reply == nil:
		b.WriteString(": no reply")
	case turn.Reply.Text == "" && len(turn.Asks) == 0:
		b.WriteString(": nothing")
	case turn.Reply.Text != "":
		fmt.Fprintf(b, ": says %q", turn.Reply.Text)
	}
	b.WriteByte('\n')
}

func tellAsks(b *strings.Builder, asks []trace.Ask, parallel bool) {
	lines := make([]string, len(asks))
	for i := range asks {
		k := &asks[i]
		if lines[i] = "  asks for " + k.Tool; !parallel {
			lines[i] += " " + k.Args
		}
		lines[i] += came(k)
	}
	if parallel {
		slices.Sort(lines)
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// came is what came of a call.
func came(k *trace.Ask) string {
	text := ", called once"
	if n := len(k.Attempts); n == 0 {
		text = ", not called"
	} else if n > 1 {
		text = fmt.Sprintf(", called %d times", n)
	}
	for _, r := range k.Results {
		text += fmt.Sprintf("; shown %q", r.Text)
		if r.Failed {
			text += " as a failure"
		}
	}
	return text
}
