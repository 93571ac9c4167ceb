package trace

import "context"

// Observe records what the program hands on of a failure: the tool result that
// its model reads, or the value that its caller gets. Call it before End.
// A text or bytes that hold JSON are recorded as that JSON, since most model
// APIs take a tool's result as text; any other value as it is written as JSON.
func (o *Op) Observe(value any) {
	raw := observed(value)
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.notice()
	at := o.r.now()
	e := o.r.next()
	e.At, e.Kind, e.Action, e.Result = at, KindObservation, o.name, o.r.hide(raw)
}

// Observe records an observation for the action that ctx carries, or else for
// the only open one. See [Op.Observe].
func (r *Recorder) Observe(ctx context.Context, value any) {
	raw := observed(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.mark(ctx, KindObservation)
	e.Result = r.hide(raw)
}

// observed is the canonical form of what is handed on.
func observed(value any) []byte {
	switch v := value.(type) {
	case string:
		return Canonical([]byte(v))
	case []byte:
		return Canonical(v)
	}
	return Canonical(Marshal(value))
}
