package invariants

import (
	"encoding/json"
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// OneKey is: every attempt of a series carries the idempotency key of its
// first, and neither two actions nor two different requests share a key at one
// tool, apart from an action that is done again at an operator's word (field cases F031, F033, F035; the IETF draft "The Idempotency-Key HTTP
// Header Field", section 2). Two tools keep their keys apart. Required also
// asks that there is a key.
func OneKey(required bool) Invariant {
	const name = "one-key"
	return Invariant{Name: name, Rule: "one idempotency key for one action, and never the same for two", Check: func(tr *trace.Trace) Verdict {
		var k keys
		var v Verdict
		actions := tr.Actions()
		k.actions = actions
		for i := range actions {
			for s := range actions[i].Series {
				v.add(name, k.series(required, &actions[i], &actions[i].Series[s]))
			}
		}
		return v
	}}
}

// keys follows the keys of a trace: a short list while there are few.
type keys struct {
	few [4]usedKey
	n   int

	actions []trace.Action
	many    map[keyAt]usedKey
}

// A keyAt is a key at the tool that knows it.
type keyAt struct{ tool, key string }

type usedKey struct {
	keyAt
	action *trace.Action
	event  int
	args   json.RawMessage
}

func (k *keys) series(required bool, a *trace.Action, s *trace.Series) (v Verdict) {
	first := &s.Attempts[0]
	if !required && !hasKey(s) {
		return v
	}
	v.Applied++
	for i := range s.Attempts {
		at := &s.Attempts[i]
		switch {
		case at.Key == "" && required:
			v.report(a, fmt.Sprintf("attempt %d of %s carries no idempotency key", at.N, s.Tool),
				"make the key once, before the first attempt, and send it with each, where Policy.Key says", at.Event)
			return v
		case at.Key != first.Key:
			v.report(a, fmt.Sprintf("attempt %d of %s carries %s, the first carried %s", at.N, s.Tool, keyText(at.Key), keyText(first.Key)),
				"make the key once for the action, outside the retry loop: a fresh key makes each attempt a new action to the tool",
				first.Event, at.Event)
			return v
		}
	}
	if first.Key != "" {
		v.shared(k.actions, k.use(a, first), a, first)
	}
	return v
}

// shared reports a key that another action, or another request, has used.
func (v *Verdict) shared(actions []trace.Action, u usedKey, a *trace.Action, at *trace.Attempt) {
	switch {
	case u.action == nil:
	case u.action != a && !sameIntention(actions, u.action, a):
		v.report(a, fmt.Sprintf("%s was called with key %q, which another action had used", at.Tool, at.Key),
			"derive the key from the action, not from the process, the user or the tool: the tool answers the second action with the first one's result. Where it follows from an order, let each action of a test be an order of its own, such as trace.ActionName(ctx)",
			u.event, at.Event)
	case !trace.SameArgs(u.args, at.Args):
		v.report(a, fmt.Sprintf("%s was called with key %q, which the action had used for other arguments", at.Tool, at.Key),
			"a key belongs to one request: the tool answers the second with the first one's result",
			u.event, at.Event)
	}
}

// use notes the key and returns its first use; zero where this is it.
func (k *keys) use(a *trace.Action, at *trace.Attempt) usedKey {
	u := usedKey{keyAt{at.Tool, at.Key}, a, at.Event, at.Args}
	for i := range k.few[:k.n] {
		if k.few[i].keyAt == u.keyAt {
			return k.few[i]
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = u
		k.n++
		return usedKey{}
	}
	if before, ok := k.many[u.keyAt]; ok {
		return before
	}
	if k.many == nil {
		k.many = make(map[keyAt]usedKey)
	}
	k.many[u.keyAt] = u
	return usedKey{}
}

func hasKey(s *trace.Series) bool {
	for i := range s.Attempts {
		if s.Attempts[i].Key != "" {
			return true
		}
	}
	return false
}

func keyText(key string) string {
	if key == "" {
		return "no key"
	}
	return fmt.Sprintf("key %q", key)
}
