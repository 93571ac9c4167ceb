package faultsim

import (
	"context"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// sends makes the call, or commits a sin in its place.
func (v *saboteur) sends(c *visit) reply {
	k := v.choose(func(k *sin) bool { return k.send != nil }, func(k *sin) bool {
		if k.seen != nil {
			return !v.scouts // whether there is an occasion shows in its course
		}
		return k.before(c)
	})
	if k == nil {
		return c.call(c.ctx, asIs)
	}
	r, done := k.send(c)
	v.over(done)
	return r
}

// follows commits a sin behind an answer.
func (v *saboteur) follows(c *visit, r reply) reply {
	if v.scouts {
		v.choose(func(k *sin) bool { return k.seen != nil }, func(k *sin) bool { return k.seen(c, r) })
	}
	k := v.choose(func(k *sin) bool { return k.again != nil }, func(k *sin) bool { return r.o.Class != 0 && k.after(c, r) })
	if k == nil {
		return r
	}
	r, done := k.again(c, r)
	if k.later { // it shows when the action ends
		return r
	}
	v.over(done)
	return r
}

// An exit is an action of which the code has returned.
type exit struct {
	v   *saboteur
	s   *Stage
	st  *stint
	out any
	err error
}

// ends commits a sin at the end of an action.
func (v *saboteur) ends(s *Stage, st *stint, out any, err error) (any, error) {
	defer st.leave()
	e := &exit{v: v, s: s, st: st, out: out, err: err}
	v.mu.Lock()
	st.ended = true
	if v.scouts && v.sample == nil && err == nil && st.done {
		v.sample = out
	}
	v.mu.Unlock()
	if st.why != nil {
		v.over(e.gaveUp())
		return e.out, e.err
	}
	k := v.choose(func(k *sin) bool { return k.leave != nil }, func(k *sin) bool { return k.leaving(e) })
	if k != nil {
		v.over(true) // before: some never return
		k.leave(e)
	}
	return e.out, e.err
}

// gaveUp reports whether the code left at once when it was made to, and puts the
// last failure in place of the end of its context.
func (e *exit) gaveUp() bool {
	if e.err == nil || now() != e.st.left {
		return false
	}
	e.err = e.st.why
	return true
}

// publishes reports whether a terminal that the code publishes is recorded.
func (v *saboteur) publishes(s *Stage, ctx context.Context, reason trace.Reason) bool {
	k := v.choose(func(k *sin) bool { return k.publish != nil }, func(k *sin) bool { return v.published || !k.second })
	v.mu.Lock()
	v.published = true
	v.mu.Unlock()
	if k == nil {
		return true
	}
	defer v.over(true)
	return k.publish(s, ctx, reason)
}

// handsOn returns what is handed on of a failure.
func (v *saboteur) handsOn(a *act, seen any) any {
	if seen == nil || v.a.Observation == nil || v.cutOff(a) {
		return seen
	}
	var now any
	k := v.choose(func(k *sin) bool { return k.observe != nil }, func(k *sin) bool {
		var ok bool
		now, ok = k.observe(v.a, seen)
		return ok
	})
	if k == nil {
		return seen
	}
	v.over(true)
	return now
}

// cutOff reports whether the caller has ended the action, of which less is asked then.
func (v *saboteur) cutOff(a *act) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.stints, func(st *stint) bool { return st.a == a && st.ctx.Err() != nil })
}

// said reports whether the action's error has the words of the latest failure, so
// that another error has not.
func (e *exit) said() bool {
	f := e.st.reply.err
	return f != nil && e.err != nil && strings.Contains(e.err.Error(), f.Error())
}
