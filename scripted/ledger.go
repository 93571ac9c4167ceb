package scripted

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/rehearse-go/rehearse/trace"
)

// A Ledger counts what tools really did, whatever their callers saw: the
// truth against which a retry is judged. The zero value is ready to use.
// Several tools and servers may share one. All methods may be called by
// several goroutines at once.
type Ledger struct {
	// Dedupe makes the tools idempotent, as a server that knows
	// Idempotency-Key is: a key that has been used at a tool has no second
	// effect and is answered with the result of the first, and a key that
	// comes with other arguments, or while its first call is still at work, is
	// answered with a [Conflict]. False: every call has its effect. It must not be
	// changed once the ledger is in use.
	Dedupe bool

	mu      sync.Mutex
	effects []Effect
	known   map[place]*entry
	repeats int
}

// An Effect is one thing that a tool did.
type Effect struct {
	Tool   string
	Key    string          // the idempotency key of the call; empty: it carried none
	Action int             // number of the call's action in its trace, from 1; 0: ambiguous
	Args   json.RawMessage // the arguments without the key and what is volatile
}

// A place is where a key is known: two tools may use the same keys.
type place struct{ tool, key string }

// An entry is what is known of a key. The ledger's lock guards it.
type entry struct {
	args   json.RawMessage
	busy   bool // its first call is still at work
	done   bool // the effect has happened
	kept   bool // result is there
	result any
}

// Apply lets a tool have the effect e by calling do, and returns do's result;
// first says that there was an effect. An error of do means that there was
// none. With Dedupe, the result of the key's first effect is returned in place
// of a second, or the error is a [*Conflict]; do is then called only where that
// result is not known.
//
// The ledger is not locked while do runs. The result is not copied.
func (l *Ledger) Apply(e Effect, do func() (result any, err error)) (result any, first bool, err error) {
	known, before, err := l.admit(e)
	switch {
	case err != nil:
		return nil, false, err
	case before.kept:
		return before.result, false, nil
	}
	defer l.settle(e, known) // also where do panics
	if result, err = do(); err != nil {
		return result, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	result, first = l.enter(e, known, result, true)
	return result, first, nil
}

// Put is [Ledger.Apply] for a result that is there without any work, so that
// its key is never still at work.
func (l *Ledger) Put(e Effect, result any) (stored any, first bool, err error) {
	return l.put(e, result, true)
}

// Lose is [Ledger.Apply] for an effect whose result nobody learns. The result
// of the key's next call becomes that of the effect.
func (l *Ledger) Lose(e Effect) (first bool, err error) {
	_, first, err = l.put(e, nil, false)
	return first, err
}

func (l *Ledger) put(e Effect, result any, kept bool) (stored any, first bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, err := l.find(e)
	if err != nil {
		return nil, false, err
	}
	stored, first = l.enter(e, known, result, kept)
	return stored, first, nil
}

// enter counts the effect unless it has happened, and keeps its first result,
// which it returns. l.mu is held.
func (l *Ledger) enter(e Effect, known *entry, result any, kept bool) (stored any, first bool) {
	if first = !known.done; first {
		l.effects = append(l.effects, e)
		known.done = true
	}
	if !known.kept {
		known.kept, known.result = kept, result
	}
	return known.result, first
}

// admit finds e's key for a call that will be at work, and tells what was
// known of it at that moment.
func (l *Ledger) admit(e Effect) (known *entry, before entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, err = l.find(e); err != nil {
		return nil, entry{}, err
	}
	before = *known
	known.busy = !known.done
	return known, before, nil
}

// find returns the entry of e's key, which it makes where it is new; without a
// key, or without Dedupe, each call has one of its own. l.mu is held.
func (l *Ledger) find(e Effect) (*entry, error) {
	if !l.Dedupe || e.Key == "" {
		return &entry{}, nil
	}
	at := place{e.Tool, e.Key}
	known := l.known[at]
	switch {
	case known == nil:
		known = &entry{args: e.Args}
		if l.known == nil {
			l.known = map[place]*entry{}
		}
		l.known[at] = known
	case !trace.SameArgs(known.args, e.Args):
		return nil, &Conflict{Tool: e.Tool, Key: e.Key}
	case known.busy:
		return nil, &Conflict{Tool: e.Tool, Key: e.Key, Busy: true}
	case known.done:
		l.repeats++
	}
	return known, nil
}

// settle ends the work of a key's call, and forgets the key where there was
// no effect.
func (l *Ledger) settle(e Effect, known *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known.busy = false
	if at := (place{e.Tool, e.Key}); !known.done && l.known[at] == known {
		delete(l.known, at)
	}
}

// Effects returns what was done, in order.
func (l *Ledger) Effects() []Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.effects)
}

// Count is the number of effects.
func (l *Ledger) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.effects)
}

// ByKey counts the effects of each idempotency key, at all tools; those
// without a key are under "".
func (l *Ledger) ByKey() map[string]int {
	return count(l, func(e Effect) string { return e.Key })
}

// ByAction counts the effects of each action, by its number in the trace.
func (l *Ledger) ByAction() map[int]int {
	return count(l, func(e Effect) int { return e.Action })
}

// Repeats is how often a call was answered without an effect, since its key
// had had one.
func (l *Ledger) Repeats() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.repeats
}

func count[K comparable](l *Ledger, by func(Effect) K) map[K]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[K]int{}
	for _, e := range l.effects {
		n[by(e)]++
	}
	return n
}
