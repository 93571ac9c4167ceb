package faultsim

// A ledger is what an honest tool does the work of one key once by. The stage's mutex
// guards it.
type ledger struct {
	results map[ledgerKey]any
	atWork  map[ledgerKey]chan struct{} // the work of the key is being done; nil: nobody waits for it
}

type ledgerKey struct{ tool, key string }

// keyed reports whether the tool does the work of the key only once.
func (s *Stage) keyed(t *tool, key string) bool { return key != "" && s.policy.Of(t.name).Key != "" }

// once does the work unless that of its key has been done, and returns its result. Of
// two calls with one key the second waits until the first has done the work, or has
// failed to.
func (s *Stage) once(k ledgerKey, work func() (any, error)) (out any, err error) {
	for {
		out, known, other := s.begin(k)
		if known {
			return out, nil
		}
		if other == nil {
			break
		}
		<-other
	}
	done := false // nor is it where it does not return
	defer func() { s.end(k, out, done) }()
	out, err = work()
	done = err == nil
	return out, err
}

// begin is the result of the key; or else the end of the work that another call does,
// to wait for; or else neither, and the work is the caller's.
func (s *Stage) begin(k ledgerKey) (out any, done bool, other chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.ledger
	if out, done = l.results[k]; done {
		return out, true, nil
	}
	other, busy := l.atWork[k]
	switch {
	case busy && other == nil:
		other = make(chan struct{})
	case !busy && l.atWork == nil:
		l.atWork = map[ledgerKey]chan struct{}{}
	}
	l.atWork[k] = other
	return nil, false, other
}

// end tells who waits for the work of the key that it is over.
func (s *Stage) end(k ledgerKey, out any, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.ledger
	if done {
		l.keep(k, out)
	}
	if other := l.atWork[k]; other != nil {
		close(other)
	}
	delete(l.atWork, k)
}

// first reports whether the key's work is still to be done, and takes it as done.
func (s *Stage) first(t *tool, key string) bool {
	if !s.keyed(t, key) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := ledgerKey{t.name, key}
	if _, done := s.ledger.results[k]; done {
		return false
	}
	s.ledger.keep(k, true)
	return true
}

func (l *ledger) keep(k ledgerKey, out any) {
	if l.results == nil {
		l.results = map[ledgerKey]any{}
	}
	l.results[k] = out
}
