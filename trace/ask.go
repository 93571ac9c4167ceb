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
	open int             // calls for it that are under way
}

// met reports whether it has what calls of the role are made for.
func (a *ask) met(r Role) bool {
	if r == RoleApproval {
		return a.free
	}
	return a.done
}

// waits reports whether it has not, and no call for it is under way: calls side by side
// are for an ask each, where the model asks for the same twice.
func (a *ask) waits(r Role) bool { return !a.met(r) && a.open == 0 }

// before reports whether a call of the role is rather for this ask than for the other,
// which comes later in the same reply.
func (a *ask) before(other *ask, r Role) bool {
	return a.waits(r) || !a.met(r) && !other.waits(r)
}

// answered notes that a call of the role has its answer.
func (a *ask) answered(r Role, c Class) {
	a.open--
	switch {
	case c != OK:
	case r == RoleApproval:
		a.free = true
	default:
		a.done = true
	}
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
		o.asks = append(o.asks, ask{len(o.asks) + 1, turn, o.r.hideText(KeepCallID, c.ID), c.Tool, args, false, false, 0})
	}
}

// askFor finds the model's call that a tool call serves: the one with the id that
// the context carries; else the one that it fits best, of several in one reply the
// first that has not got what calls of the role are made for, and waits for it; else the only ask for
// the tool in the latest reply. Nil: none.
func (o *Op) askFor(role Role, id, tool string, args json.RawMessage) *ask {
	latest := 0
	if n := len(o.asks); n > 0 {
		latest = o.asks[n-1].turn
	}
	if !o.gave(id) {
		id = "" // the program's own
	}
	var best, only *ask
	how, several := 0, false
	for i := len(o.asks) - 1; i >= 0; i-- {
		a := &o.asks[i]
		if a.tool != tool {
			continue
		}
		if fit := a.fit(id, args, latest); fit > how || fit > 0 && fit == how && a.turn == best.turn && a.before(best, role) {
			best, how = a, fit
		}
		if a.turn == latest {
			several = only != nil
			only = a
		}
	}
	switch {
	case best != nil:
		return best
	case id == "" && only != nil && !several:
		return only
	}
	return nil
}

// fit says how well a call with the id and the arguments fits what was asked for;
// 0: not at all. A program that reads arguments into a type of its own leaves out
// what it does not know, and means the latest reply by what is left, whether or not
// the same was asked for before.
func (a *ask) fit(id string, args json.RawMessage, latest int) int {
	switch {
	case id != "":
		if a.id == id {
			return 1
		}
	case SameArgs(a.args, args):
		if a.turn == latest {
			return 3
		}
		return 1
	case a.turn == latest && hasFields(a.args, args):
		return 2
	}
	return 0
}

// hasFields reports whether all, an object, has each of the fields of part, which has some.
func hasFields(all, part json.RawMessage) bool {
	var of, in map[string]json.RawMessage
	if json.Unmarshal(all, &of) != nil || json.Unmarshal(part, &in) != nil || len(in) == 0 {
		return false
	}
	for name, value := range in {
		if has, ok := of[name]; !ok || !SameArgs(has, value) {
			return false
		}
	}
	return true
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
		a.open++
		if e.CallID == "" {
			e.CallID = a.id
		}
	}
}
