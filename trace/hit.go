package trace

import "context"

// Hit records that the program answered a call of the tool without making it:
// from a cache, or with the answer to a request that another action had under
// way. A hit is no attempt. args are those that the call would have sent; err is
// the failure that was kept or shared, nil for a success with the result. Arguments and
// result are recorded as they are written as JSON.
//
// The hit is of the action that ctx carries, or else of the only open one; Hit
// returns that action's number, from 1, or 0 where it is ambiguous.
//
//	if f, ok := c.kept(q); ok {
//		r.Hit(ctx, "weather", q, f, nil)
//		return f, nil
//	}
func (r *Recorder) Hit(ctx context.Context, tool string, args, result any, err error) (action int) {
	c := Call{Tool: tool, Args: Marshal(args)}
	text, outcome := textOf(err), Outcome{Class: OK}
	var raw []byte
	if err != nil {
		outcome = r.classify(err)
	} else {
		raw = Canonical(Marshal(result))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	canon, _, _ := r.args(&c)
	e, o := r.mark(ctx, KindHit)
	e.Tool, e.Args, e.Outcome = tool, canon, outcome
	if raw != nil {
		e.Result = r.hide(raw)
	}
	if text != "" {
		e.Error = r.hideText(KeepError, text)
	}
	if o == nil {
		return 0
	}
	return o.number
}
