package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/rehearse-go/rehearse/trace"
)

// Definitions is where the definition of a tool can be read, such as the schema
// of its arguments. Make it with [Stage.Definitions]. Its methods may be called by
// several goroutines at once.
type Definitions struct {
	s        *Stage
	tool     string
	texts    []string
	version  int             // that the tool goes by, from 1
	read     int             // that the program has
	rejected map[string]bool // arguments
}

// A Definition is one version of a tool's definition.
type Definition struct {
	Version string `json:"version"`
	Text    string `json:"text"` // such as a JSON schema, as the adapter words it
}

// Definitions puts the definition of the tool on the stage, with the text of each
// version; the last one stands for all that follow. The program has the first from
// the beginning, and each call that it makes is recorded with the version that it
// has.
//
// A planned trace.Invalid is then a schema that has moved on: the tool goes by the
// next version, and rejects the arguments of that call from then on. Other
// arguments it takes where the definition was read since, by whichever action; so
// it takes a correction, and no guess. Where the policy corrects from the error
// (Correct.FromError), it does without.
//
// Code reads it by [Definitions.Aside], or over HTTP from a [Route] of
// trace.RoleDefinitions whose Answer it is.
func (s *Stage) Definitions(tool string, texts ...string) *Definitions {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &Definitions{s: s, tool: tool, texts: slices.Clone(texts), version: 1, read: 1, rejected: map[string]bool{}}
	switch {
	case s.built:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Definitions of %q was called by an action: do that in Subject, where schedules and rows can see it", tool))
	case len(texts) == 0:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Definitions of %q has no text: give that of the first version, and of those that follow it", tool))
	case s.definitions[tool] != nil && s.definitions[tool].s != s: // built anew after a crash: the tool is where it was
		before := s.definitions[tool]
		d.version, d.read, d.rejected = before.version, before.read, before.rejected
	case s.definitions[tool] != nil:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Definitions of %q was called twice: keep what the first call returned", tool))
	}
	if s.definitions == nil {
		s.definitions = map[string]*Definitions{}
	}
	s.definitions[tool] = d
	s.defines.Store(true)
	return d
}

// Aside is the call that reads the definition, for code that has a function for
// it. It is in the trace under the name, as a call of trace.RoleDefinitions. It
// takes no time and does not fail, unless ctx has ended.
func (d *Definitions) Aside(name string) func(context.Context) (Definition, error) {
	fetch := Aside(d.s, name, trace.RoleDefinitions, func(ctx context.Context, _ struct{}) (Definition, error) {
		if err := ctx.Err(); err != nil {
			return Definition{}, err
		}
		return d.current(), nil
	})
	return func(ctx context.Context) (Definition, error) { return fetch(ctx, struct{}{}) }
}

// ServeHTTP answers with the definition as JSON, {"version":"v1","text":"…"}.
func (d *Definitions) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d.current())
}

// current hands the definition out.
func (d *Definitions) current() Definition {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.read = d.version
	if len(d.texts) == 0 {
		return Definition{Version: versionName(d.read)} // an error that the trial tells
	}
	return Definition{versionName(d.read), d.texts[min(d.read, len(d.texts))-1]}
}

func versionName(n int) string { return "v" + strconv.Itoa(n) }

// known is the version that the program has of the tool's definition; empty: the
// stage has none.
func (s *Stage) known(tool string) string {
	if !s.defines.Load() {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.definitions[tool]; d != nil {
		return versionName(d.read)
	}
	return ""
}

// check is what the tool says to the arguments of a call that has arrived; f is
// what is planned for it. The stage is locked.
func (d *Definitions) check(t *tool, p trace.Pending, f Fault) Fault {
	args, refusal := string(p.Args()), f.despite(Fault{Class: trace.Invalid})
	stale := d.read != d.version && !d.s.policy.Of(t.name).Correct.FromError
	switch {
	case f.Class == trace.Invalid:
		d.version++
		refusal = f
	case !d.rejected[args] && !stale, !t.can(&refusal):
		return f
	}
	d.rejected[args] = true
	return refusal
}

// definitionsFit reports a definition of a tool that is not there.
func (s *Stage) definitionsFit() error {
	if !s.defines.Load() {
		return nil
	}
	var errs []error
	for name := range s.definitions {
		if s.lookup(name) == nil {
			errs = append(errs, fmt.Errorf("faultsim: Stage.Definitions speaks of tool %q, the stage has %s: name one of them", name, s.names()))
		}
	}
	return errors.Join(errs...)
}

// schemas lets, every second time, the schema of a tool move on, twice in a row
// now and then.
func (d *drawer) schemas(t *source, s *Schedule) {
	if !coin(t) {
		return
	}
	change := Fault{Class: trace.Invalid}
	var names []string
	for i := range d.tools {
		if slices.Contains(d.defined, d.tools[i].name) && d.tools[i].can(&change) {
			names = append(names, d.tools[i].name)
		}
	}
	if len(names) == 0 {
		return
	}
	name, plan := names[below(t, len(names))], &s.Actions[below(t, len(s.Actions))]
	faults := plan.Faults[name]
	if len(faults) > longestGarnished {
		return
	}
	plan.Faults[name] = slices.Insert(faults, below(t, min(len(faults), 2)+1), slices.Repeat([]Fault{change}, 1+below(t, 2))...)
}
