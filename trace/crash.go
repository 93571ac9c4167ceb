package trace

import "context"

// Crash records that the program's process dies while the action is under way:
// the calls that are under way go on at their tools, whose effects are still
// recorded, and their answers reach nobody and are not. write is the number of
// the action's durable write at which the process dies, 0: at none; where says
// in words what is known of the moment, such as "before write 2"; empty: nothing.
func (o *Op) Crash(write int, where string) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.put(KindCrash, 0, where).Count = write
	o.life++
}

// Restart records that the program is up again, and returns a context that
// carries the action for what goes on with it: attempts are numbered on.
func (o *Op) Restart(ctx context.Context) context.Context {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.put(KindRestart, 0, "")
	return &opContext{ctx, o}
}

// crash notes the end of a process in the computed view: what was under way is
// lost.
func (a *Action) crash(i int, e *Event) {
	back := e.Kind == KindHandback
	for n := range a.Attempts {
		if at := &a.Attempts[n]; !at.Seen && !at.Lost {
			at.Lost, at.Drained, at.End = true, back, e.At
		}
	}
	r := Restart{Crash: e.At, CrashEvent: i, HandedBack: back, UpEvent: -1}
	if !back {
		r.Write = e.Count
	}
	a.Restarts = append(a.Restarts, r)
}

func tellCrash(e *Event, d *detail) {
	d.add("the process dies")
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
}
