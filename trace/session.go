package trace

import "context"

// Closed records that the program closed a session, the one of that number in
// [Call].Session. It is of the only open action, or else of none: sessions outlive
// actions, and are closed without their contexts.
func (r *Recorder) Closed(session int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.mark(context.Background(), KindClose)
	e.Session = session
}
