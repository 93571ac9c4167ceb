package faultsim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Sink puts a place on the stage to which the code under test writes its
// records: the log or the audit trail of that name in [Adapter].Sinks. The
// function that it returns writes one record, which is in the trace and is no
// attempt of the action. In a schedule it fails like a tool, record by record:
//
//	audit 1 transient
//	audit 2 hang
//	audit 3 ok after=3s
//	audit 4 panic
//
// A record whose context has ended fails with the context's error, and one of
// class timeout with an error that wraps [context.DeadlineExceeded]. A panic in
// a goroutine of the program's own would end the test binary, whether or not
// somebody recovers it, so there the record fails with an error instead.
//
// The function may be called by several goroutines at once.
func Sink[Record any](s *Stage, name string) func(context.Context, Record) error {
	t := &tool{name: name, skills: recording{}}
	k := s.registerSink(t)
	return func(ctx context.Context, r Record) error {
		if ctx == nil {
			return s.misused(fmt.Errorf("faultsim: the sink %s was called with a nil context: hand the caller's context on, or one of its own", name))
		}
		return s.write(ctx, t, k.Role(), double.JSON(r))
	}
}

// write writes one record.
func (s *Stage) write(ctx context.Context, t *tool, role trace.Role, record []byte) error {
	if s.gone() {
		return s.buried()
	}
	p := s.reached(ctx, trace.Call{Tool: t.name, Role: role, Args: record})
	f, _ := s.arrive(t, p)
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang, Deaf: f.Deaf}
	o := trace.Outcome{Class: f.class()}
	var err error
	ended := timing.Play(ctx, nil, p)
	if s.gone() {
		return s.buried()
	}
	switch {
	case ended != 0:
		o.Class, err = ended, ctx.Err()
	case f.Panic:
		o.Class, err = trace.Unknown, fmt.Errorf("%s: the writer of the record is broken", t.name)
	case f.class() == trace.Timeout:
		err = fmt.Errorf("%s: the record was not written in time: %w", t.name, context.DeadlineExceeded)
	case f.class() != trace.OK:
		err = fmt.Errorf("%s: the record was not written (%v)", t.name, f.class())
	}
	p.Answer(o, nil, err)
	if f.Panic && err != nil && recovered() {
		panic(err.Error())
	}
	return err
}

// recovered reports whether a panic of this goroutine stays in the trial.
func recovered() bool {
	pc := make([]uintptr, 256)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "faultsim.(*trial).call") {
			return true
		}
		if !more {
			return false
		}
	}
}

// recording is what a sink can show.
type recording struct{}

func (recording) forms() []HintForm { return nil }
func (recording) unusable() error   { return nil }

func (recording) can(f *Fault) bool {
	g := *f
	g.Class, g.Latency, g.Hang, g.Cancel, g.Panic, g.Deaf = 0, 0, false, 0, false, false
	return g == Fault{} && !(f.Panic && (f.Hang || f.class() != trace.OK))
}

// registerSink puts a sink on the stage, and returns its contract.
func (s *Stage) registerSink(t *tool) invariants.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.declared, func(k invariants.Sink) bool { return k.Name == t.name })
	before := s.sinkNamed(t.name)
	t.build = s.build
	switch {
	case i < 0:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: the stage has a sink %q, and the adapter's Sinks do not: add its contract there", t.name))
		return invariants.Sink{Name: t.name}
	case s.built:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: sink %q was put on the stage by an action: do that in Subject, where schedules and rows can see it", t.name))
	case before >= 0 && s.sinks[before].build < t.build:
		t.follows(s.sinks[before]) // on the stage again after a crash
		s.sinks[before] = t
		return s.declared[i]
	case s.double(t.name) != nil:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: the stage has two doubles named %q: give each its own name", t.name))
	}
	s.sinks = append(s.sinks, t)
	return s.declared[i]
}

// sinkNamed is the place of the sink in the list; -1: there is none.
func (s *Stage) sinkNamed(name string) int {
	return slices.IndexFunc(s.sinks, func(t *tool) bool { return t.name == name })
}

// double is the double of the name; nil: there is none.
func (s *Stage) double(name string) *tool {
	if t := s.lookup(name); t != nil {
		return t
	}
	return s.besides(name)
}

// besides is the double of the name that is no tool: a model, an approver or a sink.
func (s *Stage) besides(name string) *tool {
	for _, list := range [...][]*tool{s.models, s.approvers, s.sinks} {
		for _, t := range list {
			if t.name == name {
				return t
			}
		}
	}
	return nil
}

// sinksBuilt reports a sink of the adapter that is not on the stage: its
// contract would pass unread.
func (s *Stage) sinksBuilt() error {
	for _, k := range s.declared {
		if !slices.ContainsFunc(s.sinks, func(t *tool) bool { return t.name == k.Name }) {
			return fmt.Errorf("faultsim: the adapter's Sinks name %q, and Subject puts no such sink on the stage: build it with faultsim.Sink, or take the contract out", k.Name)
		}
	}
	return nil
}

// validateSinks reports what makes the contracts unusable.
func (a *Adapter) validateSinks() error {
	var errs []error
	seen := map[string]bool{Main: true}
	for i := range a.Sinks {
		k := &a.Sinks[i]
		if err := k.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("adapter %q: %w", a.Name, err))
		}
		if k.Wait > longestPromise {
			errs = append(errs, fmt.Errorf("adapter %q: sink %q: Wait is %v, and a trial plays %v at most: say less", a.Name, k.Name, k.Wait, longestPromise))
		}
		if seen[k.Name] {
			errs = append(errs, fmt.Errorf("adapter %q: Sinks has %q twice, or it stands for the main tool: give each sink a name of its own", a.Name, k.Name))
		}
		seen[k.Name] = true
	}
	return errors.Join(errs...)
}

// records draws, in half of the actions, what becomes of the first records to
// each sink. It comes last, so that no other draw depends on it.
func (d *drawer) records(t *source, s *Schedule) {
	for i := range s.Actions {
		for n := range d.sinks {
			if !coin(t) {
				continue
			}
			k := &d.sinks[n]
			faults := make([]Fault, 1+below(t, 3))
			for j := range faults {
				faults[j] = k.draw(t)
			}
			s.Actions[i].Faults[k.Name] = faults
		}
	}
}

// A drawnSink is a sink on the stage.
type drawnSink struct{ invariants.Sink }

// draw is what becomes of one record: as often well as badly.
func (k *drawnSink) draw(t *source) Fault {
	slow := (k.Wait + [...]time.Duration{-k.Wait / 2, time.Second, time.Minute}[below(t, 3)]).Truncate(10) + 30
	switch below(t, 8) {
	case 0:
		return Fault{Class: trace.Transient}
	case 1:
		return Fault{Class: trace.Timeout, Latency: slow}
	case 2:
		return Fault{Hang: true}
	case 3:
		return Fault{Panic: true}
	case 4:
		return Fault{Latency: slow}
	case 5:
		return Fault{Class: trace.Transient, Latency: slow}
	}
	return Fault{}
}
