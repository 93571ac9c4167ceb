package trace

import "context"

// Closed records that the program closed a session, the one of that number in
// [Call].Session. It is of the only open action, or else of none: sessions outlive
// actions, and are closed without their contexts.
func (r *Recorder) Closed(session int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.owner(context.Background(), "", "", nil)
	if o != nil {
		o.notice()
	}
	at := r.now()
	e := r.next()
	e.At, e.Kind, e.Session, e.Ambiguous = at, KindClose, session, o == nil
	if o != nil {
		e.Action = o.name
	}
}
