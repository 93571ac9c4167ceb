package invariants

import "github.com/rehearse-go/rehearse/trace"

// turnsOf is the part of a trace in which each turn of a model is an action, and each of
// its calls an attempt at the model.
func (l *Loop) turnsOf(p *Policy) func(*trace.Trace) *slice {
	return func(tr *trace.Trace) *slice {
		s := new(sliceOf(tr))
		names, ends := map[int]string{}, map[int]string{} // call event → action; answer → error
		first := map[int]*trace.Action{}                  // event of a turn's first call → its run
		for _, r := range l.runsOf(p, tr) {
			if len(r.a.Restarts) > 0 {
				continue
			}
			for n := range r.turns {
				t := &r.turns[n]
				first[t.Calls[0]] = r.a
				for _, call := range t.Calls {
					names[call] = partName(r.a.Name, n)
				}
				r.turnEnds(t, ends)
			}
		}
		s.thinking(tr, names, first, ends)
		return s
	}
}

// turnEnds notes how the turn ended: with its reply, or with the run.
func (r *run) turnEnds(t *trace.Turn, ends map[int]string) {
	last := r.answerTo(t.Calls[len(t.Calls)-1])
	switch {
	case t.Reply != nil:
		ends[t.Answer] = ""
	case last < 0 || !r.a.Ended || last > r.a.EndEvent || t.N < len(r.turns) || timeUp(r.a) || r.l.Tokens > 0 || r.tr.Events[last].Outcome.Class == trace.Cancelled:
		// It goes on, or another model took its place, or something cut it short, such
		// as the program itself, which gives up a stream that says something else now.
	default:
		ends[last] = "the model failed"
	}
}

// thinking takes over the calls of models, their answers, and the waits between them.
func (s *slice) thinking(tr *trace.Trace, names map[int]string, first map[int]*trace.Action, ends map[int]string) {
	calls, open := map[int]string{}, map[string]string{} // call → action; run → turn that has failed so far
	for i := range tr.Events {
		e := &tr.Events[i]
		switch e.Kind {
		case trace.KindCall:
			name, mine := names[i]
			if !mine {
				delete(open, e.Action)
				continue
			}
			if a := first[i]; a != nil {
				s.begin(tr, i, name, a.Deadline)
			}
			calls[e.Call] = name
			s.add(tr, i, name).Role = trace.RoleAttempt
			delete(open, e.Action)
		case trace.KindInterrupt, trace.KindAnswer:
			name, mine := calls[e.Call]
			if !mine {
				continue
			}
			s.add(tr, i, name)
			if err, over := ends[i]; over {
				s.end(tr, i, name, err)
			} else if e.Kind == trace.KindAnswer {
				open[e.Action] = name
			}
		case trace.KindWait:
			if name, waits := open[e.Action]; waits {
				s.add(tr, i, name)
			}
		}
	}
}
