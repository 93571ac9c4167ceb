package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Serve is a tool as its callers see it: what they call with the idempotency
// key and the arguments. It can be called by several goroutines at once.
type Serve[In, Out any] = func(ctx context.Context, key string, in In) (Out, error)

// Served makes the tool itself the code under test. The stage calls it, and
// calls it again: after a success, after a lost reply, at once, with the same key
// and other arguments. [Served.Adapter] is the adapter for [Check], [Run] and the
// matrix:
//
//	func TestRefundIsSafeToRepeat(t *testing.T) {
//		matrix.Run(t, faultsim.Served[Order, Receipt]{
//			Name: "refund",
//			Subject: func(s *faultsim.Stage) faultsim.Serve[Order, Receipt] {
//				return refund.New(faultsim.Tool(s, "bank", pay, failures)).Refund
//			},
//			Args:  Order{ID: 7, Cents: 1200},
//			Other: Order{ID: 7, Cents: 9900},
//			Clash: func(err error) bool { return errors.Is(err, refund.ErrKeyReused) },
//		}.Adapter())
//	}
//
// The work is counted where it has its effect: at the doubles of the tools below,
// or where the code calls [Stage.Effect].
type Served[In, Out any] struct {
	// Name is the tool's name in reports, and the name of the calls.
	Name string

	// Repeats is the contract: what a repeat gets. The zero value knows repeats
	// by the key, and promises nothing where good tools differ.
	Repeats invariants.Repeats

	// Subject builds the tool on the stage's doubles. It is called afresh for
	// each trial, inside the bubble of virtual time. A result is compared as it is
	// written as JSON: where yours says that it is a repeat's, return it without.
	Subject func(*Stage) Serve[In, Out]

	// Args is what the stage calls the tool with. Other is a request that is
	// not the same, for a key that was used with Args; where it is the zero
	// value, no call is made with other arguments.
	Args, Other In

	// Keys are the keys that the stage uses, the first for most calls. They
	// are to look alike and not be the same. Empty: four of about 40 signs, which
	// differ in their last sign, in upper and lower case, and in a dash.
	Keys []string

	// Restarts says that the process of the tool may die and come back, and that
	// the tool has what it must remember on the [Stage.Disk]: Subject builds it anew
	// on the same disk. The caller of the call that was under way sees a broken
	// connection. Without it nothing crashes.
	Restarts bool

	// Clash, Busy and Keyless read the tool's errors: the key was used with
	// other arguments; a call with this key is under way, and this one may be
	// repeated; there is no key. Nil: the tool has no such error.
	Clash, Busy, Keyless func(error) bool
}

// Adapter is the adapter of the tool. Accept, Serial, Trials and Invariants can
// be set on it; its Policy is none of the tool's and stays as it is.
func (v Served[In, Out]) Adapter() Adapter {
	repeats := v.Repeats
	repeats.Undone = slices.Clone(repeats.Undone)
	a := Adapter{
		Name:    v.Name,
		Policy:  invariants.Policy{ID: "one try below", MaxAttempts: 1, Key: repeats.Key, Undone: repeats.Undone},
		Repeats: &repeats,
		served: &served{
			args: staged(v.Args), other: staged(v.Other),
			hasOther: !reflect.ValueOf(&v.Other).Elem().IsZero(), keys: v.Keys,
			clash: v.Clash, busy: v.Busy, keyless: v.Keyless,
			content: repeats.Content(), rules: repeats.Invariants(),
		},
	}
	if len(v.Keys) == 0 {
		a.served.keys = alikeKeys
	}
	if v.Subject != nil {
		a.Subject = func(s *Stage) Action { return serving(v.Subject(s)) }
		if v.Restarts {
			a.Resume = a.Subject
		}
	}
	return a
}

// alikeKeys are keys that a tool takes for one another where it cuts them,
// folds their case or takes what is no letter or digit out.
var alikeKeys = []string{
	"rehearse-5f0c1e7ab2d94c3e8a66-Vb7kQ2-Rz48",
	"rehearse-5f0c1e7ab2d94c3e8a66-Vb7kQ2-Rz49",
	"rehearse-5f0c1e7ab2d94c3e8a66-vB7Kq2-rZ48",
	"rehearse-5f0c1e7ab2d94c3e8a66-Vb7kQ2Rz48",
}

// served is the part of an adapter that is about a tool under test.
type served struct {
	args, other          stagedCall
	hasOther             bool
	keys                 []string
	clash, busy, keyless func(error) bool
	content              []byte
	rules                []invariants.Invariant
}

// A staged call is what the context of a served action carries.
type stagedCall struct {
	key  string
	args any
	text json.RawMessage // the arguments as they are written down
}

func staged(args any) stagedCall { return stagedCall{args: args, text: trace.Marshal(args)} }

type stagedKey struct{}

// serving is the action that calls the tool as the plan says.
func serving[In, Out any](serve Serve[In, Out]) Action {
	if serve == nil {
		return nil
	}
	return func(ctx context.Context) (any, error) {
		c := ctx.Value(stagedKey{}).(stagedCall)
		in, _ := c.args.(In) // what an interface holds may be nil
		return serve(ctx, c.key, double.Clone(in))
	}
}

// call is what the plan calls the tool with.
func (v *served) call(p *Plan) stagedCall {
	c := v.args
	if p.Other {
		c = v.other
	}
	if p.Key != NoKey {
		c.key = v.keys[max(p.Key, 1)-1]
	}
	return c
}

// begin begins the call of the tool.
func (v *served) begin(ctx context.Context, rec *trace.Recorder, name string, p *Plan) (context.Context, *trace.Op) {
	c := v.call(p)
	return rec.Serve(context.WithValue(ctx, stagedKey{}, c), trace.Call{Tool: name, Key: c.key, Args: c.text})
}

// code says how the tool refused the call; empty: it did not.
func (v *served) code(err error) string {
	says := func(reads func(error) bool) bool { return reads != nil && reads(err) }
	switch {
	case err == nil:
	case says(v.clash):
		return invariants.CodeClash
	case says(v.busy):
		return invariants.CodeBusy
	case says(v.keyless):
		return invariants.CodeKeyless
	}
	return ""
}

// fits reports why a plan cannot be played on the adapter; nil: it can.
func (v *served) fits(p *Plan, number int) error {
	switch {
	case v == nil && (p.Key != 0 || p.Other):
		return &UnfitError{fmt.Sprintf("action %d has a Key or Other, which are for a tool under test: clear them, or build the adapter with Served", number), number, "", 0}
	case v == nil:
		return nil
	case p.Key < NoKey:
		return fmt.Errorf("faultsim: Key of action %d is %d: keys are counted from 1; 0 is the first, and NoKey none", number, p.Key)
	case p.Key > len(v.keys):
		return &UnfitError{fmt.Sprintf("action %d uses key %d, and there are %d", number, p.Key, len(v.keys)), number, "", 0}
	case p.Other && !v.hasOther:
		return &UnfitError{fmt.Sprintf("action %d calls with other arguments, and Served has no Other", number), number, "", 0}
	}
	return nil
}

// validateServed reports what makes the adapter of a tool unusable.
func (a *Adapter) validateServed() error {
	if a.served == nil {
		return fmt.Errorf("adapter %q: Repeats is the contract of a tool under test: build the adapter with Served", a.Name)
	}
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("served %q: %s", a.Name, fmt.Sprintf(format, args...)))
	}
	v, r := a.served, a.Repeats
	if err := r.Validate(); err != nil {
		complain("%v", err)
	}
	if d := max(r.Retention, r.Lease); d > longestTime/2 {
		complain("repeats: Retention or Lease is %v: a trial plays half a year at most; leave Retention 0 where keys are kept for good", d)
	}
	if len(a.guards()) > 0 || a.Observation != nil || a.Again != nil {
		complain("a Breaker, Breakers, an Observation or Again is set, which are for code that calls tools: test them with an adapter of their own")
	}
	if r.By == invariants.ByState && v.hasOther {
		complain("Other is for keys, and the tool knows repeats by the state: leave it out")
	}
	if v.hasOther && trace.SameArgs(trace.Canonical(v.args.text), trace.Canonical(v.other.text)) {
		complain("Args and Other are written as the same JSON: give another request, with exported fields")
	}
	if v.clash == nil && v.hasOther {
		complain("there is Other and no Clash: give the function that knows the refusal of a key that was used with other arguments")
	}
	if r.AtOnce == invariants.AtOnceRefused && v.busy == nil {
		complain("Repeats.AtOnce is AtOnceRefused, and Busy is nil: give the function that knows the refusal")
	}
	if r.Keyless == invariants.KeylessRefused && v.keyless == nil {
		complain("Repeats.Keyless is KeylessRefused, and Keyless is nil: give the function that knows the refusal")
	}
	for i, k := range v.keys {
		if k == "" || slices.Contains(v.keys[:i], k) {
			complain("Keys[%d] is %q, which is empty or there already: give each key once", i, k)
		}
	}
	return errors.Join(errs...)
}

// Effect records that the code under test did work of its own for the call that
// ctx carries, such as a write to its database. What a tool below does is
// counted by its double.
func (s *Stage) Effect(ctx context.Context) {
	if s.gone() {
		_ = s.buried()
		return
	}
	s.rec.Effect(ctx, s.name)
}
