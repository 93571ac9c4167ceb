package faultsim

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// load reads the trace of a fleet.
func (c *crowd) load(tr *trace.Trace) *Load {
	l := &Load{Agents: c.f.Agents, Trace: tr, Ends: map[trace.Reason]int{}}
	if r := c.reception.Load(); r != nil {
		l.Service = r.served()
	}
	if c.f.Shared {
		l.read(c, tr)
		l.judge(c, 0, tr)
	} else {
		for agent, own := range c.alone(tr) {
			l.read(c, own)
			l.judge(c, agent+1, own)
		}
		l.judgeTogether(c, tr)
	}
	l.needed = l.Actions * max(c.f.Adapter.Pages, 1)
	slices.Sort(l.calls)
	slices.Sort(l.retries)
	return l
}

// served is what the service has done.
func (r *reception) served() ServiceLoad {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := ServiceLoad{Answered: r.st.served, Refused: r.refused, Throttled: r.throttled, Down: r.down, Left: r.left, Wasted: r.wasted}
	if r.st.started > 0 {
		s.Wait = time.Duration(r.st.waited / float64(r.st.started))
	}
	if r.st.workers > 0 && r.st.last > 0 {
		s.Busy = r.st.worked / float64(r.st.last) / float64(r.st.workers)
	}
	return s
}

// read adds the actions of a trace.
func (l *Load) read(c *crowd, tr *trace.Trace) {
	tool := c.reception.Load().tool
	for i := range tr.Events {
		if e := &tr.Events[i]; e.Kind == trace.KindCall && e.Role == trace.RoleAttempt && e.Tool == tool {
			l.Attempts++
			l.calls = append(l.calls, e.At)
		}
	}
	actions := tr.Actions()
	for i := range actions {
		a := &actions[i]
		if a.BeginAt < 0 {
			continue // what Subject called while it built
		}
		l.Actions++
		l.Ends[cmp.Or(a.Reason, c.f.Adapter.Policy.Terminal(a))]++
		l.Took = max(l.Took, a.End)
		for j := range a.Attempts {
			if at := &a.Attempts[j]; at.Tool == tool && at.N > 1 {
				l.Retries++
				l.retries = append(l.retries, at.Begin)
			}
		}
	}
}

// judge holds what one agent did to its policy.
func (l *Load) judge(c *crowd, agent int, tr *trace.Trace) {
	if found, _ := c.f.Adapter.judge(tr); len(found) > 0 {
		l.Broken = append(l.Broken, Broken{agent, tr, found})
	}
}

// judgeTogether holds the fleet to what no process alone can break: that their
// jitter differs.
func (l *Load) judgeTogether(c *crowd, tr *trace.Trace) {
	if !c.f.Adapter.Spreads {
		return
	}
	if found := invariants.Find(tr, invariants.JitterSpreads(c.f.Adapter.Policy)); len(found) > 0 {
		l.Broken = append(l.Broken, Broken{0, tr, found})
	}
}

// alone yields the trace of each agent by itself. What belongs to no action of an
// agent, such as a call that Subject made, is in none.
func (c *crowd) alone(tr *trace.Trace) iter.Seq2[int, *trace.Trace] {
	own := make([][]int32, c.f.Agents) // indices of its events
	names := c.names()
	for i := range tr.Events {
		if agent, ok := names[tr.Events[i].Action]; ok {
			own[agent] = append(own[agent], int32(i))
		}
	}
	return func(yield func(int, *trace.Trace) bool) {
		for agent, list := range own {
			events := make([]trace.Event, len(list))
			for i, n := range list {
				events[i] = tr.Events[n]
			}
			if !yield(agent, &trace.Trace{Schema: tr.Schema, Policy: tr.Policy, Beside: tr.Beside, Start: tr.Start, Events: events}) {
				return
			}
		}
	}
}

// names are the agents by the names of their actions.
func (c *crowd) names() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make(map[string]int, len(c.of))
	for i, agent := range c.of {
		names[c.x.stage.acts[i].op.Name()] = agent
	}
	return names
}
