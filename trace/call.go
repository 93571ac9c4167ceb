package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// A Call is one physical execution asked of a tool, as it arrives.
type Call struct {
	Tool       string          // its name in the trace
	Role       Role            // zero: an attempt
	ID         string          // the id that the model or the protocol gave it; empty: none
	Args       json.RawMessage // any JSON; kept in canonical form and never aliased
	Key        string          // the idempotency key, where it is not in Args
	Credential string          // the credential, where it is not in Args
	Definition string          // the version of the tool's definition that the program has; empty: [Recorder.Definition] says it
	Session    int             // the session that it goes over or, of [RoleConnect], opens; numbered from 1; 0: not known

	Items Items // of a batch: what it asks for; empty: it is none

	Prompt *Prompt // of a model: what it is shown; copied
}

// A Pending call has begun and has not been answered.
type Pending struct {
	r      *Recorder
	op     *Op // nil: ambiguous
	number int
	n      int
	tool   string
	key    string
	hidden string // the key as the trace shows it
	cred   string
	args   json.RawMessage
	role   Role
	life   int // of its process: see [Op.Crash]
	ask    int // the model's call that it serves; 0: none
}

// Call records that a tool is reached and decides which action the attempt
// belongs to: the one that the context carries; else the one that used the
// same key; else the only open one; else the one that sent equal arguments to
// the tool. Where there has been one action only, the call is of that one,
// and where none was declared, of one without a name. A call that could belong
// to several is marked as ambiguous and judged by no invariant.
func (r *Recorder) Call(ctx context.Context, c Call) Pending {
	version := c.Definition
	if version == "" && r.Definition != nil {
		version = r.definition(c.Tool)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	args, key, cred := r.args(&c)
	r.calls++
	p := Pending{r: r, number: r.calls, tool: c.Tool, role: c.Role, cred: cred, args: args}
	if key != "" {
		p.key, p.hidden = key, r.hideKey(key)
	}
	if p.op = r.owner(ctx, c.Tool, key, args); p.op != nil {
		p.op.notice()
		p.n, p.life = p.op.count(&c, key, args), p.op.life
	}
	at := r.now()
	e := r.next()
	e.At, e.Kind, e.Role, e.Call = at, KindCall, c.Role, p.number
	p.place(e)
	e.Key, e.Args, e.Deadline = p.hidden, args, r.deadline(ctx)
	e.Definition, e.Session = version, c.Session
	e.Layer, e.Outcome.Items = layerOf(ctx, p.op), r.hideItems(c.Items)
	if cred != "" {
		e.Credential = r.hideText(KeepCredential, cred)
	}
	if c.ID != "" {
		e.CallID = r.hideText(KeepCallID, c.ID)
	}
	if c.Prompt != nil {
		e.Prompt = r.hidePrompt(c.Prompt.clone())
	}
	p.serves(ctx, &c, e)
	return p
}

// args returns the canonical, redacted arguments, the key and the credential.
func (r *Recorder) args(c *Call) (args json.RawMessage, key, cred string) {
	if len(c.Args) == 0 {
		return nil, c.Key, c.Credential
	}
	if about, ok := c.asks(); ok {
		about.Arguments, _, _ = r.args(&Call{Args: about.Arguments}) // as those of the call itself, so that the two compare
		return Canonical(Marshal(about)), c.Key, c.Credential
	}
	if r.raw == nil || string(r.raw) != string(c.Args) {
		r.raw = append(r.raw[:0], c.Args...)
		canon, key := takeKey(Canonical(c.Args), r.Key)
		canon, cred := takeKey(canon, r.Credential)
		r.canon, r.key, r.cred = r.hide(canon), key, cred
	}
	return r.canon, cmp.Or(c.Key, r.key), cmp.Or(c.Credential, r.cred)
}

// owner applies the rule of attribution. Nil: ambiguous.
func (r *Recorder) owner(ctx context.Context, tool, key string, args json.RawMessage) *Op {
	if o, ok := ctx.Value(opKey{}).(*Op); ok && o.r == r {
		return o
	}
	switch len(r.ops) {
	case 0: // nobody declared an action: there is one, without a name
		o := &Op{r: r, number: 1, open: true, implied: true}
		r.ops = append(r.ops, o)
		return o
	case 1:
		return r.ops[0]
	}
	return r.guess(tool, key, args)
}

// guess picks among several actions, from the strongest evidence to the weakest.
func (r *Recorder) guess(tool, key string, args json.RawMessage) *Op {
	if r.serves {
		return r.guessServed(key)
	}
	if key != "" {
		sameKey := func(l *opLane) bool { return l.key == key }
		if o := r.only(func(o *Op) bool { return o.sent(tool, sameKey) }); o != nil {
			return o
		}
	}
	if o := r.only(func(o *Op) bool { return o.open }); o != nil {
		return o
	}
	if slices.ContainsFunc(r.ops, func(o *Op) bool { return o.open && !o.sent(tool, func(*opLane) bool { return true }) }) {
		return nil // it may as well be the first call of an action that has made none
	}
	same := func(l *opLane) bool { return SameArgs(l.args, args) }
	if o := r.only(func(o *Op) bool { return o.open && o.sent(tool, same) }); o != nil {
		return o
	}
	return r.only(func(o *Op) bool { return o.sent(tool, same) })
}

// only returns the one action that matches; nil where none or several do.
func (r *Recorder) only(match func(*Op) bool) *Op {
	var found *Op
	for _, o := range r.ops {
		if match(o) {
			if found != nil {
				return nil
			}
			found = o
		}
	}
	return found
}

// sent reports whether the action has called the tool in a way that matches.
func (o *Op) sent(tool string, match func(*opLane) bool) bool {
	for i := range o.lanes {
		if o.lanes[i].tool == tool && match(&o.lanes[i]) {
			return true
		}
	}
	return false
}

// count returns the number of this call among the action's calls of the tool
// in the same role.
func (o *Op) count(c *Call, key string, args json.RawMessage) int {
	for i := range o.lanes {
		if l := &o.lanes[i]; l.tool == c.Tool && l.role == c.Role {
			l.n, l.args, l.key = l.n+1, args, key
			return l.n
		}
	}
	if o.lanes == nil {
		o.lanes = o.first[:0]
	}
	o.lanes = append(o.lanes, opLane{c.Tool, c.Role, 1, args, key})
	return 1
}

// Action is the number of the call's action, from 1; 0 where it is ambiguous.
func (p Pending) Action() int {
	if p.op == nil {
		return 0
	}
	return p.op.number
}

// Attempt is the number of the call among its action's calls of this tool,
// from 1; 0 where the action is ambiguous.
func (p Pending) Attempt() int { return p.n }

// Number is the number of the call over the whole trace, from 1.
func (p Pending) Number() int { return p.number }

// Key is the idempotency key that the call carried, in clear; empty: none.
func (p Pending) Key() string { return p.key }

// Credential is the credential that the call carried, in clear; empty: none, or
// nobody said where it is.
func (p Pending) Credential() string { return p.cred }

// Args is the arguments as the trace shows them: in canonical form, without key
// and credential, and redacted unless the recorder keeps them. They must not be
// changed.
func (p Pending) Args() json.RawMessage { return p.args }

// Interrupt records that the call's context ended while the tool was at work.
// It is needed only where the tool does not answer at once when that happens.
func (p Pending) Interrupt(o Outcome) { p.record(KindInterrupt, o, nil, nil) }

// EffectOf records that the tool did these items of a batch.
func (p Pending) EffectOf(items Items) { p.record(KindEffect, Outcome{Items: items}, nil, nil) }

// Effect records that the tool did what it was asked.
func (p Pending) Effect() { p.record(KindEffect, Outcome{}, nil, nil) }

// Answer records the tool's answer: its result, or its error.
func (p Pending) Answer(o Outcome, result json.RawMessage, err error) {
	p.record(KindAnswer, o, result, err)
}

// reply records what a model said.
func (p Pending) reply(o Outcome, said *Reply, err error) {
	p.note(KindAnswer, o, nil, said.clone(), err)
}

func (p Pending) record(kind Kind, o Outcome, result json.RawMessage, err error) {
	p.note(kind, o, result, nil, err)
}

func (p Pending) note(kind Kind, o Outcome, result json.RawMessage, said *Reply, err error) {
	r, text := p.r, textOf(err)
	if len(result) > 0 {
		result = Canonical(result)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.op != nil && p.life != p.op.life && kind != KindEffect {
		return // nobody lived to see it
	}
	if p.op != nil {
		p.op.notice()
		if kind != KindEffect && p.role == RoleAttempt {
			p.op.saw(p.number, err)
		}
		if p.ask > 0 && kind == KindAnswer {
			p.op.asks[p.ask-1].answered(p.role, o.Class)
		}
	}
	at := r.now()
	e := r.next()
	e.At, e.Kind, e.Call, e.Outcome = at, kind, p.number, o
	e.Outcome.Items = r.hideItems(o.Items)
	p.place(e)
	if said != nil {
		if p.op != nil && o.Class == OK {
			p.op.asked(said)
		}
		e.Reply = r.hideReply(said)
	}
	if kind == KindEffect {
		e.Key = p.hidden
	}
	if len(result) > 0 {
		e.Result = r.hide(result)
		if p.role == RoleApproval {
			e.Result = showEnd(result, e.Result)
		}
	}
	if text != "" {
		e.Error = r.hideText(KeepError, text)
	}
}

// place says where the event belongs.
func (p *Pending) place(e *Event) {
	e.Tool, e.Ambiguous = p.tool, p.op == nil
	if p.op != nil {
		e.Action = p.op.name
	}
}

// Wait records that the program asks its sleeper for a wait of d.
func (r *Recorder) Wait(ctx context.Context, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.mark(ctx, KindWait)
	e.Wait = d
}

// mark adds an event of the action that ctx carries, or else of the only open one;
// o is nil where it could be of several. The caller holds the lock.
func (r *Recorder) mark(ctx context.Context, kind Kind) (e *Event, o *Op) {
	if o = r.owner(ctx, "", "", nil); o != nil {
		o.notice()
	}
	at := r.now()
	e = r.next()
	e.At, e.Kind, e.Ambiguous = at, kind, o == nil
	if o != nil {
		e.Action = o.name
	}
	return e, o
}
