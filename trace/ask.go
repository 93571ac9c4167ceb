package trace

import (
	"context"
	"encoding/json"
	"slices"
)

// An ask is a call that a model has asked for in an action.
type ask struct {
	n    int // over the action, from 1
	turn int // of the reply that has it, over the action
	id   string
	tool string
	args json.RawMessage // as the trace shows them
	done bool            // an attempt for it has succeeded
	free bool            // leave for it has been given
}

// met reports whether it has what calls of the role are made for.
func (a *ask) met(r Role) bool {
	if r == RoleApproval {
		return a.free
	}
	return a.done
}

// meet notes that a call of the role has got it.
func (a *ask) meet(r Role) {
	if r == RoleApproval {
		a.free = true
		return
	}
	a.done = true
}

// CallID puts the id of the model's call that the program carries out on the
// context of the calls below it. It is needed only where they could not be told by
// tool and arguments: where the program changes arguments on the way, or does
// several calls of one tool at once.
func CallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

type callIDKey struct{}

// asked remembers what the model asks for in a reply. The caller holds the lock.
func (o *Op) asked(said *Reply) {
	if len(said.Calls) == 0 {
		return
	}
	turn := 1
	if n := len(o.asks); n > 0 {
		turn = o.asks[n-1].turn + 1
	}
	for _, c := range said.Calls {
		args, _, _ := o.r.args(&Call{Args: json.RawMessage(c.Args)})
		o.asks = append(o.asks, ask{len(o.asks) + 1, turn, o.r.hideText(KeepCallID, c.ID), c.Tool, args, false, false})
	}
}

// askFor finds the model's call that a tool call serves: the one with the id that
// the context carries; else the latest ask for the tool with equal arguments, of
// several in one reply the first that has not got what calls of the role are made
// for; else the only ask for the tool in the latest reply. Nil: none.
func (o *Op) askFor(role Role, id, tool string, args json.RawMessage) *ask {
	latest := 0
	if n := len(o.asks); n > 0 {
		latest = o.asks[n-1].turn
	}
	if !o.gave(id) {
		id = "" // the program's own
	}
	var same, only *ask
	several := false
	for i := len(o.asks) - 1; i >= 0; i-- {
		a := &o.asks[i]
		if a.tool != tool {
			continue
		}
		if id != "" && a.id == id && (same == nil || !a.met(role) && a.turn == same.turn) {
			same = a
			continue
		}
		if id == "" && SameArgs(a.args, args) && (same == nil || !a.met(role) && a.turn == same.turn) {
			same = a
		}
		if a.turn == latest {
			several = only != nil
			only = a
		}
	}
	switch {
	case same != nil:
		return same
	case id == "" && only != nil && !several:
		return only
	}
	return nil
}

// gave reports whether the model gave one of its calls the id.
func (o *Op) gave(id string) bool {
	return slices.ContainsFunc(o.asks, func(a ask) bool { return a.id == id })
}

// serves links a call to what the model asked for. The caller holds the lock.
func (p *Pending) serves(ctx context.Context, c *Call, e *Event) {
	if p.op == nil || len(p.op.asks) == 0 || p.role != RoleAttempt && p.role != RoleAgent && p.role != RoleApproval {
		return
	}
	id := c.ID
	if id == "" {
		id, _ = ctx.Value(callIDKey{}).(string)
	}
	tool, args := p.sought(c)
	if a := p.op.askFor(p.role, p.r.hideText(KeepCallID, id), tool, args); a != nil {
		p.ask, e.Ask = a.n, a.n
		if e.CallID == "" {
			e.CallID = a.id
		}
	}
}
