package trace

import "time"

// Drain records that the program's process is told to stop while the action is
// under way, as by SIGTERM, and that it is killed after so long.
func (o *Op) Drain(grace time.Duration) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.put(KindDrain, 0, "").Wait = max(grace, 0)
}

// HandBack records that the process which was told to stop has stopped by
// itself, and has left the action to the next one: a call that it has left under
// way is answered to nobody. err is what it returned instead of an end; nil:
// nothing. [Op.Restart] follows.
func (o *Op) HandBack(err error) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	o.put(KindHandback, 0, text)
	o.life++
}

// A Drain is the instant at which the program's process was told to stop.
type Drain struct {
	At    time.Duration // since the trace's Start
	Event int           // index of the drain event
	Grace time.Duration // how long it has to stop by itself; 0: not known
}

// cutOff marks the attempts that a drain has cut off by the end of their
// context. One whose caller had cancelled by then was not.
func (a *Action) cutOff() {
	for _, d := range a.Drains {
		for n := range a.Attempts {
			at := &a.Attempts[n]
			if !at.Seen || at.Outcome.Class != Cancelled || at.End < d.At || a.Cancelled() && a.Cancel <= at.End {
				continue
			}
			at.Drained = at.Drained || a.life(at.Event) == a.life(d.Event)
		}
	}
}

// life is the number of the process that an event is of, from 0.
func (a *Action) life(event int) (n int) {
	for i := range a.Restarts {
		if a.Restarts[i].CrashEvent < event {
			n++
		}
	}
	return n
}

func tellDrain(e *Event, d *detail) {
	d.add("the process is told to stop")
	if e.Wait > 0 {
		d.add("%s of grace", span(e.Wait))
	}
}

func tellHandback(e *Event, d *detail) {
	d.add("the process stops and gives the action back")
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
}
