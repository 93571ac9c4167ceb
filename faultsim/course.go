package faultsim

import (
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A course is how an action goes at a tool, as its policy has it.
type course struct {
	tool   *drawnTool
	series invariants.Series
	at     time.Duration // of its next attempt, from its begin
}

func (t *drawnTool) course() course { return course{tool: t, series: t.policy.Start(0, 0)} }

// meets is what the policy makes of the answer to the next attempt, and how long the
// caller waits for it. Behind a success there is a new series.
func (c *course) meets(f *Fault) (d invariants.Decision, takes time.Duration) {
	o, takes := c.tool.seen(f)
	c.series.Began(c.at)
	c.at += takes
	d = c.series.Next(o, c.at)
	if succeeds(d) {
		c.series = c.tool.policy.Start(0, 0)
	}
	return d, takes
}

// succeeds reports whether the answer was a success.
func succeeds(d invariants.Decision) bool {
	return d.Do == invariants.Stop && d.Reason == trace.ReasonSuccess
}

// seen is what the caller sees of the tool's answer, and when, from its arrival.
func (t *drawnTool) seen(f *Fault) (trace.Outcome, time.Duration) {
	if a := t.policy.Attempt; f.Hang || a > 0 && f.takes() > a {
		return trace.Outcome{Class: trace.Timeout}, a
	}
	return trace.Outcome{Class: f.class(), Hint: f.Hint, Items: f.Items}, f.takes()
}

// A leg is one attempt of an action.
type leg struct {
	takes time.Duration // until its caller has an answer, or gives it up
	on    bool          // another attempt follows
	wait  time.Duration // the longest before that
}

// lives reports whether the action goes on behind the instant at which the attempt
// begins.
func (l *leg) lives() bool { return l.takes > 1 || l.on }

// legs are the attempts of an action that meets the faults and waits as long as its
// policy lets it. What is not planned is answered at once.
func (t *drawnTool) legs(faults []Fault) (list []leg) {
	c := t.course()
	for n := range faults {
		d, takes := c.meets(&faults[n])
		l := leg{takes, d.Do != invariants.Stop || succeeds(d) && n+1 < len(faults), d.Hi}
		c.at += d.Hi
		if list = append(list, l); !l.on {
			return list
		}
	}
	return append(list, leg{})
}

// lasting is how long they take.
func lasting(legs []leg) (sum time.Duration) {
	for _, l := range legs {
		sum = min(sum+l.takes+l.wait, longestDrawn)
	}
	return sum
}
