package trace

import "context"

// Serve records that the program itself is called as a tool: an action whose
// begin carries the key and the arguments of the call. It returns a context that
// carries the action, and the handle that ends it, as [Recorder.Begin] does. The
// action is named after c.Tool; the other fields of c are not used.
//
// A call of a tool below that carries neither the action's context nor the key
// of one is of the only action that is open; equal arguments say nothing, since
// calls that look alike are what such a program has to tell apart.
//
// [Ending].Code says how a call was refused, in the words of package invariants:
// see its Repeats.
func (r *Recorder) Serve(ctx context.Context, c Call) (context.Context, *Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	args, key, _ := r.args(&Call{Args: c.Args, Key: c.Key})
	o, e := r.begin(ctx, c.Tool, nil)
	e.Args = args
	r.serves, o.served = true, key
	if key != "" {
		e.Key = r.hideKey(key)
	}
	return &o.ctx, o
}

// guessServed picks among the calls that are served: the first that came with the
// same key, to which the key belongs, else the only one that is open.
func (r *Recorder) guessServed(key string) *Op {
	for _, o := range r.ops {
		if key != "" && o.served == key {
			return o
		}
	}
	return r.only(func(o *Op) bool { return o.open })
}

// Effect records that the program did work of its own, such as a write to its
// database, for the action that ctx carries, or else for the only open one. tool
// names what did it. The effect of a tool that is called is for its double to
// record; see [Pending].
func (r *Recorder) Effect(ctx context.Context, tool string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.mark(ctx, KindEffect)
	e.Tool = tool
}
