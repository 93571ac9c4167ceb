package faultsim

import (
	"fmt"
	"time"
)

// calm reports whether the faults have stopped by an instant, counted from the
// begin of the first action.
func (s *Schedule) calm(at time.Duration) bool { return s.Calm > 0 && at >= s.Calm }

// stilled is the fault of an attempt that arrives at the instant, without what would
// come when the faults have stopped: all of it behind the calm, and before it an end
// of the process that falls behind. What a caller does is no fault, and stays.
func (s *Schedule) stilled(f Fault, at time.Duration) Fault {
	if s.calm(at) {
		return Fault{Cancel: f.Cancel}
	}
	if s.calm(at + f.Crash) {
		f.Crash = 0
	}
	if s.calm(at + f.Drain) {
		f.Drain = 0
	}
	return f
}

// validateCalm reports a calm that cannot be played.
func (s *Schedule) validateCalm() error {
	switch {
	case s.Calm < 0:
		return fmt.Errorf("faultsim: Calm is %v: count it from the begin of the first action; 0 is never", s.Calm)
	case s.Calm > longestTime:
		return fmt.Errorf("faultsim: Calm is %v: a trial plays a year (%v) at most", s.Calm, longestTime)
	}
	return nil
}

// calms reports whether the faults have stopped by now. The stage is locked.
func (c *climate) calms() bool { return c.begun && c.s.calm(time.Since(c.begin)) }

// begins marks the begin of the first action, from which the schedule's instants
// count.
func (s *Stage) begins() {
	if s.climate.begun {
		return
	}
	s.climate.begun, s.climate.begin = true, time.Now()
	if at := s.climate.s.Calm; at > 0 {
		time.AfterFunc(at, s.rec.Calm)
	}
}

// calm reads "calm at=".
func (p *parser) calm(words []string) error {
	switch {
	case len(words) != 2:
		return p.errorf("the end of all faults reads calm at=, such as %q", "calm at=30s")
	case p.s.Calm != 0:
		return p.errorf("the calm is given twice: take one out")
	}
	return p.options(words[1:], func(name, value string) (err error) {
		if name != "at" {
			return fmt.Errorf("unknown option %q of a calm; known is at=", name)
		}
		p.s.Calm, err = positive(name, value)
		return err
	})
}
