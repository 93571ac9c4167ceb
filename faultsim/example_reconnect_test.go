package faultsim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var (
	errNoDesk = errors.New("orders: connection refused")
	errCut    = errors.New("orders: connection reset by peer")
)

type order struct{ Item string }

// A desk places orders over one session, which it opens when it needs one. It
// repeats nothing: an order whose session was lost may have been placed.
type desk struct {
	dial    func(context.Context) (func(context.Context, order) (int, error), error)
	session func(context.Context, order) (int, error)
	keeps   bool // the mistake: a session stays when it was lost
}

func (d *desk) place(ctx context.Context, o order) (n int, err error) {
	if d.session == nil {
		if d.session, err = d.dial(ctx); err != nil {
			return 0, err
		}
	}
	n, err = d.session(ctx, o)
	if (errors.Is(err, errNoDesk) || errors.Is(err, errCut)) && !d.keeps {
		d.session = nil
	}
	return n, err
}

// placing plugs the desk in: the tool is called over what Dial has opened.
func placing(keeps bool) faultsim.Adapter {
	return faultsim.Adapter{
		Name:    "place",
		Policy:  invariants.Policy{ID: "orders/v1", MaxAttempts: 1},
		Session: &invariants.Session{},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			sessions := s.Sessions("orders")
			tool := faultsim.Tool(s, "orders", func(context.Context, order) (int, error) { return 7, nil },
				faultsim.Errors{trace.NotConnected: errNoDesk, trace.Reset: errCut})
			d := &desk{keeps: keeps, dial: func(ctx context.Context) (func(context.Context, order) (int, error), error) {
				c, err := sessions.Dial(ctx)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, o order) (int, error) { return tool(c.Over(ctx), o) }, nil
			}}
			return func(ctx context.Context) (any, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return d.place(ctx, order{"tea"})
			}
		},
	}
}

// The reply of the first order is lost with its session. The order is not repeated,
// and the next one goes over a session of its own.
func TestTheNextOrderGoesOverANewSession(t *testing.T) {
	lost := faultsim.One(faultsim.Lose(trace.Reset))
	lost.Actions = append(lost.Actions, faultsim.Plan{})
	if r := faultsim.Trial(t, placing(false), lost); r.Err != nil || len(r.Findings) > 0 {
		t.Errorf("the right desk: %v, %v", r.Findings, r.Err)
	}
	r := faultsim.Trial(t, placing(true), lost)
	if r.Err != nil || len(r.Findings) == 0 || r.Findings[0].Invariant != "new-session-used" {
		t.Errorf("the desk that keeps its session: %v, %v", r.Findings, r.Err)
	}
}
