package faultsim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Approver puts somebody on the stage who is asked for leave before a tool is called:
// a person, or a service that decides. Leave is granted at once, and is worth
// something for so long; 0: for good. Schedules address it by name, question by
// question:
//
//	owner 1 declined          it is denied
//	owner 2 ok after=1h       it is granted late
//	owner 3 hang              there is no answer
//	owner 4 ok valid=1ms      it is granted, and soon worth nothing
//	owner 5 transient         the service fails
//
// Questions are in the trace as calls of trace.RoleApproval. Where the process of the
// code dies while one is open, the answer still comes: code that asks again after the
// restart, for the same call in the same action, is given that answer. A question that
// failed, or that nobody answers, is a new one then.
func (s *Stage) Approver(name string, valid time.Duration) trace.ApproveFunc {
	t := &tool{name: name, skills: approving{}}
	s.beside(&s.approvers, "an approver", t)
	if valid < 0 {
		s.misused(errors.New("faultsim: leave that an approver gives is valid for less than nothing: give the time, or 0 for good"))
	}
	return func(ctx context.Context, of trace.ToolCall) (trace.Approval, error) {
		if ctx == nil {
			return trace.Approval{}, s.misused(fmt.Errorf("faultsim: the approver %s was asked with a nil context: hand the caller's context on", name))
		}
		if s.gone() {
			return trace.Approval{}, s.buried()
		}
		return s.approve(ctx, t, of, valid)
	}
}

// A leaveKey is a question; the answer is for the action's next life too.
type leaveKey struct {
	act        *act
	tool, args string
	who        string
}

// A leave is an answer that is on its way, or has been given.
type leave struct {
	due   time.Time
	build int // the number of the stage that asked
	fault Fault
	trace.Approval
}

func (s *Stage) approve(ctx context.Context, t *tool, of trace.ToolCall, valid time.Duration) (trace.Approval, error) {
	p := s.reached(ctx, trace.ApprovalCall(t.name, of))
	f, a := s.arrive(t, p)
	l := s.leaveOf(a, t, of, f)
	timing := double.Timing{Latency: time.Until(l.due), Hang: l.fault.Hang, Deaf: f.Deaf}
	ended := timing.Play(ctx, nil, p)
	switch {
	case s.gone():
		return trace.Approval{}, s.buried()
	case ended != 0:
		p.Answer(trace.Outcome{Class: ended}, nil, ctx.Err())
		return trace.Approval{}, ctx.Err()
	case l.fault.class() == trace.Declined:
		l.Reason = "no"
	case l.fault.class() != trace.OK:
		err := fmt.Errorf("%s could not be asked: %v", t.name, l.fault.class())
		p.Answer(trace.Outcome{Class: l.fault.Class}, nil, err)
		return trace.Approval{}, err
	case !l.Granted:
		s.grant(l, valid)
	}
	p.Approve(l.Approval)
	return l.Approval, nil
}

// grant gives leave an id and an end.
func (s *Stage) grant(l *leave, valid time.Duration) {
	s.mu.Lock()
	s.approvals++
	l.ID, l.Granted = fmt.Sprintf("leave_%d", s.approvals), true
	s.mu.Unlock()
	if l.fault.Valid > 0 {
		valid = l.fault.Valid
	}
	if valid > 0 {
		l.Expires = l.due.Add(valid)
	}
}

// decides reports whether the answer is one: a failure ended with the process that met
// it, and what nobody answers may be asked again.
func (l *leave) decides() bool {
	return !l.fault.Hang && (l.fault.class() == trace.OK || l.fault.class() == trace.Declined)
}

// leaveOf is the answer to a question: that of the life before, where it died over it.
func (s *Stage) leaveOf(a *act, t *tool, of trace.ToolCall, f Fault) *leave {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := leaveKey{a, of.Tool, string(trace.Canonical([]byte(of.Args))), t.name}
	if l := s.granted[k]; l != nil && l.build < s.build && l.decides() {
		l.build = s.build
		return l
	}
	l := &leave{due: time.Now().Add(f.Latency), build: s.build, fault: f}
	if s.granted == nil {
		s.granted = map[leaveKey]*leave{}
	}
	s.granted[k] = l
	return l
}

// approving is what an approver can do.
type approving struct{}

func (approving) forms() []HintForm { return nil }
func (approving) unusable() error   { return nil }

func (approving) can(f *Fault) bool {
	g := *f
	g.Class, g.Latency, g.Hang, g.Cancel, g.Crash, g.Valid, g.Deaf = 0, 0, false, 0, 0, 0, false
	if g != (Fault{}) || f.Valid > 0 && f.class() != trace.OK {
		return false
	}
	switch f.class() {
	case trace.OK, trace.Declined, trace.Transient, trace.Timeout:
		return true
	}
	return false
}
