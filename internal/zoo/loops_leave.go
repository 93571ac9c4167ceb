package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Loops that call what nobody has given leave for.
func leaveLoops() []Specimen {
	return []Specimen{
		{"leave-denied-and-called", "A denial is an answer without an error, and the call is made.",
			testingRetries, "approved", leaving(owner{granted: func(a trace.Approval) bool { return true }}, nil)},
		{"leave-not-to-be-had", "Where the owner cannot be asked the refund is made, so that nobody waits.",
			testingRetries, "approved", leaving(owner{open: true}, nil)},
		{"leave-expired", "The leave is asked for before the order is looked at once more, and nobody looks at the time.",
			testingRetries, "approved", leaving(owner{late: true}, nil)},
		{"leave-kept-for-the-tool", "Leave that was given once is kept for the tool, and the next amount needs none.",
			testingRetries, "approved", leaving(owner{kept: func(w wish) string { return w.tool }}, unpinned)},
		{"leave-spent-twice", "Leave is kept for the call, and asked again the call is made on it once more.",
			testingRetries, "approved", leaving(owner{kept: intention}, func(h *host) { h.keep = keepsAllBut(exhausts) })},
		{"leave-asked-for-afterwards", "The refund is made, and the owner is asked for the records, since they agree as a rule.",
			testingRetries, "approved", leaving(owner{after: true}, nil)},
	}
}

// An owner says how the owner is asked. The zero value is right.
type owner struct {
	granted func(trace.Approval) bool // reads the answer; nil: as it is meant
	open    bool                      // goes on where nobody answers
	late    bool                      // does not look at the time
	kept    func(wish) string         // what leave is kept for; nil: for nothing
	after   bool                      // calls first
}

// leaving plugs in the assistant whose refunds need the owner's leave.
func leaving(o owner, change func(*host)) faultsim.Adapter {
	p := rightly()
	p.loop.Approve, p.loop.Intention, p.loop.Protected = []string{"refund"}, 0, nil
	p.change = func(s *faultsim.Stage, _ service, h *host) {
		ask := s.Approver("owner", time.Minute)
		g := h.tools["refund"]
		g.needsLeave = true
		h.tools["refund"] = g
		given := map[string]bool{}
		h.may = func(h *host, ctx context.Context, r *run, w wish) error {
			if !h.tools[w.tool].needsLeave || o.kept != nil && given[o.kept(w)] {
				return nil
			}
			if o.after {
				return nil
			}
			err := o.asks(ctx, ask, w)
			if err == nil && o.kept != nil {
				given[o.kept(w)] = true
			}
			return err
		}
		if o.after {
			h.serve = func(h *host, ctx context.Context, r *run, wishes []wish) []notice {
				answers := h.inTurn(ctx, r, wishes)
				for i, w := range wishes {
					if h.tools[w.tool].needsLeave && !answers[i].failed {
						_ = o.asks(ctx, ask, w)
					}
				}
				return answers
			}
		}
		if change != nil {
			change(h)
		}
	}
	return p.adapter()
}

// asks asks the owner for leave, which is good for this call.
func (o owner) asks(ctx context.Context, ask trace.ApproveFunc, w wish) error {
	a, err := ask(ctx, trace.ToolCall{ID: w.id, Tool: w.tool, Args: w.args})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && o.open:
		return nil
	case err != nil:
		return errors.Join(errNoLeave, err)
	case o.granted != nil:
		a.Granted = o.granted(a)
	}
	if o.late {
		_ = sleep(ctx, base)
		a.Expires = time.Time{}
	}
	if !a.Allows(time.Now()) {
		return errNoLeave
	}
	return nil
}
