package faultsim

import (
	"context"
	"fmt"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Aside puts a call on the stage that is no attempt of the action: fetching
// credentials (trace.RoleAuth), or asking what became of an earlier attempt
// (trace.RoleReconcile). It is in the trace, f answers it, and schedules do not
// touch it. Over HTTP, the same is a [Route] with a Role.
func Aside[In, Out any](s *Stage, name string, role trace.Role, f trace.Func[In, Out]) trace.Func[In, Out] {
	if f == nil {
		s.misused(fmt.Errorf("faultsim: Aside %q was given nil: give the function that answers", name))
		f = func(context.Context, In) (out Out, err error) { return out, nil }
	}
	return func(ctx context.Context, in In) (Out, error) {
		if s.gone() {
			return none[Out](), s.buried()
		}
		p := s.reached(ctx, trace.Call{Tool: name, Role: role, Args: double.JSON(in)})
		out, err := f(ctx, in)
		if s.gone() {
			return none[Out](), s.buried()
		}
		if err != nil {
			p.Answer(trace.Classify(err), nil, err)
			return out, err
		}
		p.Answer(trace.Outcome{Class: trace.OK}, double.JSON(out), nil)
		return out, nil
	}
}

// none is the zero answer.
func none[Out any]() (out Out) { return out }
