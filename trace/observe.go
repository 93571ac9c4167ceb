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
	e := o.r.observe(raw)
	e.Action = o.name
}

// Observe records an observation for the action that ctx carries, or else for
// the only open one. See [Op.Observe].
func (r *Recorder) Observe(ctx context.Context, value any) {
	raw := observed(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.owner(ctx, "", "", nil)
	if o != nil {
		o.notice()
	}
	e := r.observe(raw)
	if e.Ambiguous = o == nil; o != nil {
		e.Action = o.name
	}
}

// observe adds the event; the caller says whose it is.
func (r *Recorder) observe(raw []byte) *Event {
	at := r.now()
	e := r.next()
	e.At, e.Kind, e.Result = at, KindObservation, r.hide(raw)
	return e
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
