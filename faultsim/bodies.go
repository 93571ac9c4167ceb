package faultsim

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// delivers notes a response whose body is now the caller's to close.
func (s *Stage) delivers(x *exchange) {
	if x.a == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, x)
}

// leaves ends the answers whose bodies an action leaves unread as it ends: it
// has gone by the status.
func (s *Stage) leaves(a *act) {
	s.mu.Lock()
	bodies := s.bodies
	s.mu.Unlock()
	for _, x := range bodies {
		if x.a == a && !x.read.Load() {
			x.rest()
		}
	}
}

// unclosed records the bodies that keep their connections: those that nobody
// has read to the end or closed, and whose context has not ended.
func (s *Stage) unclosed() {
	s.mu.Lock()
	bodies := s.bodies
	s.mu.Unlock()
	for _, x := range bodies {
		if !x.read.Load() && !x.s.gone() && x.req.Context().Err() == nil {
			x.a.op.Trouble(trace.KindLeak, fmt.Sprintf("the body of call %d, an answer of %s, was neither read to its end nor closed", x.p.Number(), x.r.Tool))
		}
	}
}
