package faultsim

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Agent wraps an agent that the code under test hands tasks to: a loop of its own,
// with a model of its own on the same stage. Each task is in the trace as a call of
// trace.RoleAgent, with the terminal of the child; what the child calls is of a layer
// with its name. It is the child itself that is called: nothing is in its place.
//
// How a failed child ended is what its error says, by [trace.Classify] or by
// [Adapter].Reason, whose word is then the code of the outcome.
func Agent[In, Out any](s *Stage, name string, child trace.Func[In, Out]) trace.Func[In, Out] {
	if child == nil {
		s.misused(fmt.Errorf("faultsim: Agent %q was given nil: give the function that runs the child", name))
		child = func(context.Context, In) (out Out, err error) { return out, nil }
	}
	s.misused(s.agentNamed(name))
	return func(ctx context.Context, task In) (Out, error) {
		if ctx == nil {
			return none[Out](), s.misused(fmt.Errorf("faultsim: the agent %s was called with a nil context: hand the caller's context on", name))
		}
		if s.gone() {
			return none[Out](), s.buried()
		}
		p := s.reached(ctx, trace.Call{Tool: name, Role: trace.RoleAgent, Args: double.JSON(task)})
		out, err := child(trace.Layer(ctx, name), task)
		if s.gone() {
			return none[Out](), s.buried()
		}
		if err != nil {
			p.Answer(s.endOf(err), nil, err)
			return out, err
		}
		p.Answer(trace.Outcome{Class: trace.OK}, double.JSON(out), nil)
		return out, nil
	}
}

// agentNamed reports a name that cannot be told from that of a double; nil: it is fine.
func (s *Stage) agentNamed(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case name == "":
		return errors.New("faultsim: an agent on the stage has no name: give Agent one, for layers and reports")
	case s.double(name) != nil:
		return fmt.Errorf("faultsim: the stage has a double and an agent that are both named %q: give each its own name", name)
	}
	return nil
}

// endOf reads how a child ended off its error.
func (s *Stage) endOf(err error) trace.Outcome {
	o := trace.Classify(err)
	if s.reason == nil {
		return o
	}
	r := s.reason(err)
	if class, ok := classOf[r]; ok {
		o.Class, o.Code = class, r.String()
	}
	return o
}

// classOf is what the end of a child is to its parent.
var classOf = map[trace.Reason]trace.Class{
	trace.ReasonDeclined: trace.Declined, trace.ReasonExhausted: trace.Transient, trace.ReasonRefused: trace.Forbidden,
	trace.ReasonNeedsInput: trace.Invalid, trace.ReasonHintTooLong: trace.Throttled, trace.ReasonCancelled: trace.Cancelled,
	trace.ReasonDeadline: trace.Timeout, trace.ReasonBudget: trace.QuotaExhausted, trace.ReasonBreakerOpen: trace.NotConnected,
	trace.ReasonOutcomeUnknown: trace.Unknown, trace.ReasonPartial: trace.Partial, trace.ReasonInterrupted: trace.Unknown,
	trace.ReasonEscalated: trace.Forbidden,
}
