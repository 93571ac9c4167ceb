package trace

import (
	"context"
	"encoding/json"
	"time"
)

// An Approval is the answer of somebody who was asked for leave to call a tool.
// The zero value is a denial.
type Approval struct {
	ID      string    `json:"id,omitempty"` // tells it from others; empty: it has none
	Granted bool      `json:"approved"`
	Reason  string    `json:"reason,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // the instant from which it is worth nothing; zero: it stays
}

// Allows reports whether the call may be made at the instant now: the leave is
// granted and has not expired.
func (a Approval) Allows(now time.Time) bool {
	return a.Granted && (a.Expires.IsZero() || now.Before(a.Expires))
}

// An ApproveFunc is the ordinary shape of whoever gives leave.
type ApproveFunc = func(context.Context, ToolCall) (Approval, error)

// An asking is what a call of [RoleApproval] has as arguments.
type asking struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ApprovalCall is the call in which who, a name of the one that is asked, is asked
// for leave to make a call. Its arguments are {"tool":…,"arguments":…}, and it is
// linked to what the model asked for by the id of that call, else by its tool and
// arguments; see [Event].Ask.
func ApprovalCall(who string, of ToolCall) Call {
	return Call{
		Tool: who, Role: RoleApproval, ID: of.ID,
		Args: Marshal(asking{of.Tool, Canonical([]byte(of.Args))}),
	}
}

// Approve records the answer of who was asked for leave: of class [OK] where it is
// granted, and [Declined] where it is denied.
func (p Pending) Approve(a Approval) {
	class := Declined
	if a.Granted {
		class = OK
	}
	p.Answer(Outcome{Class: class}, Marshal(a), nil)
}

// RecordApproval returns f as one who gives leave and whose answers r writes down.
// It changes neither calls nor answers.
func RecordApproval(r *Recorder, who string, f ApproveFunc) ApproveFunc {
	return func(ctx context.Context, of ToolCall) (a Approval, err error) {
		p := r.Call(ctx, ApprovalCall(who, of))
		returned := false
		defer func() {
			if !returned {
				p.Answer(Outcome{Class: Unknown}, nil, errEnded)
			}
		}()
		a, err = f(ctx, of)
		if returned = true; err != nil {
			p.Answer(r.classify(err), nil, err)
			return a, err
		}
		p.Approve(a)
		return a, nil
	}
}

// asks is what leave is asked for, where the call does so.
func (c *Call) asks() (about asking, ok bool) {
	if c.Role != RoleApproval || json.Unmarshal(c.Args, &about) != nil {
		return asking{}, false
	}
	return about, about.Tool != ""
}

// sought is the tool and the arguments that a call is about: its own, or those
// that leave is asked for. The caller holds the lock.
func (p *Pending) sought(c *Call) (tool string, args json.RawMessage) {
	about, ok := c.asks()
	if !ok {
		return c.Tool, p.args
	}
	args, _, _ = p.r.args(&Call{Args: about.Arguments})
	return about.Tool, args
}

// showEnd puts the end of a leave into its redacted answer: a time is data that is
// judged, and nobody's.
func showEnd(said, hidden json.RawMessage) json.RawMessage {
	var given Approval
	var fields map[string]json.RawMessage
	if json.Unmarshal(said, &given) != nil || given.Expires.IsZero() || json.Unmarshal(hidden, &fields) != nil {
		return hidden
	}
	fields["expires"] = Marshal(given.Expires)
	return Canonical(Marshal(fields))
}
