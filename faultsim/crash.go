package faultsim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// crashesFit reports why the crashes of action i cannot be played; nil: they can.
func (s *Stage) crashesFit(sched *Schedule, i int) error {
	p := &sched.Actions[i]
	switch {
	case p.CrashBeforeWrite < 0 || p.CrashAfterWrite < 0:
		return fmt.Errorf("faultsim: action %d crashes at write %d: writes are counted from 1; 0 is none", i+1, min(p.CrashBeforeWrite, p.CrashAfterWrite))
	case p.Restart < 0 || p.Restart > longestTime:
		return fmt.Errorf("faultsim: Restart of action %d is %v: a process is down for a year (%v) at most; 0 is a second", i+1, p.Restart, longestTime)
	case p.deaths() == 0 && p.Restart != 0:
		return fmt.Errorf("faultsim: Restart of action %d is %v and nothing crashes in it: plan a crash or a drain, or clear it", i+1, p.Restart)
	case p.deaths() == 0 && p.Grace == 0:
		return nil
	case p.Grace < 0 || p.Grace > longestTime:
		return fmt.Errorf("faultsim: Grace of action %d is %v: a process has a year (%v) at most; 0 is half a minute", i+1, p.Grace, longestTime)
	case p.Grace != 0 && p.drains() == 0:
		return fmt.Errorf("faultsim: Grace of action %d is %v and nothing is told to stop in it: plan a drain, or clear it", i+1, p.Grace)
	case p.drains() > 0 && !s.drainable:
		tool, attempt := p.crashing()
		return &UnfitError{fmt.Sprintf("the schedule tells the process to stop in action %d, and the adapter does not say how the code hands the action back: declare HandedBack", i+1), i + 1, tool, attempt}
	case s.life == nil && s.served != nil:
		tool, attempt := p.crashing()
		return &UnfitError{fmt.Sprintf("the schedule crashes the process in action %d, and Served does not say that the tool survives it: set Restarts", i+1), i + 1, tool, attempt}
	case s.life == nil:
		tool, attempt := p.crashing()
		return &UnfitError{fmt.Sprintf("the schedule crashes the process in action %d, and the adapter does not say how the code comes back: declare Resume", i+1), i + 1, tool, attempt}
	case sched.AtOnce && len(sched.Actions) > 1:
		return errors.New("faultsim: a crash or a drain ends every action of the process: let actions with one run in turn, without AtOnce")
	case p.Deadline != 0 || p.Cancel != 0 || p.cancels():
		return fmt.Errorf("faultsim: action %d has a crash or a drain, and a deadline or a cancel of its caller, who is gone with the process: leave one out", i+1)
	}
	return nil
}

// crashing is the first attempt at which a crash or a drain is planned.
func (p *Plan) crashing() (tool string, attempt int) {
	for name, faults := range inOrder(p.Faults) {
		for n := range faults {
			if faults[n].Crash > 0 || faults[n].Drain > 0 {
				return name, n + 1
			}
		}
	}
	return "", 0
}

// cancels reports whether the caller cancels at one of the attempts.
func (p *Plan) cancels() bool {
	for _, faults := range p.Faults {
		for n := range faults {
			if faults[n].Cancel > 0 {
				return true
			}
		}
	}
	return false
}

func (p *Plan) writeCrashes(b *strings.Builder) {
	if p.CrashBeforeWrite != 0 {
		fmt.Fprintf(b, " crash-before-write=%d", p.CrashBeforeWrite)
	}
	if p.CrashAfterWrite != 0 {
		fmt.Fprintf(b, " crash-after-write=%d", p.CrashAfterWrite)
	}
	option(b, "grace", p.Grace)
	option(b, "restart", p.Restart)
}

// numbered reads the number of a write.
func numbered(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxAttempt {
		return 0, fmt.Errorf("%s=%s is no number from 1 to %d: writes are counted from 1", name, value, maxAttempt)
	}
	return n, nil
}

// addCrashes gives each crash and each drain its times, and the action the time to begin
// anew after it.
func (x *trial) addCrashes(whole time.Duration, add func(time.Duration)) {
	if x.a.Resume == nil {
		return
	}
	for i := range x.s.Actions {
		p := &x.s.Actions[i]
		for range min(p.deaths(), 16) {
			add(p.grace())
			add(p.downtime())
			add(whole)
		}
	}
}

// simplerCrash takes a crash out, or brings it forward.
func simplerCrash(s Schedule, i int, yield func(step) bool) bool {
	for _, at := range []func(*Plan) *int{
		func(p *Plan) *int { return &p.CrashBeforeWrite },
		func(p *Plan) *int { return &p.CrashAfterWrite },
	} {
		for _, n := range []int{0, 1, *at(&s.Actions[i]) - 1} {
			if n >= 0 && n < *at(&s.Actions[i]) && !yield(func(c *Schedule) { *at(&c.Actions[i]) = n }) {
				return false
			}
		}
	}
	return s.Actions[i].Restart == 0 || yield(func(c *Schedule) { c.Actions[i].Restart = 0 })
}

// validateRestart reports a Resume that the policy says nothing of, and the
// other way round.
func (a *Adapter) validateRestart() []error {
	var errs []error
	switch {
	case a.served != nil: // its calls are not resumed: see severed
	case a.Resume != nil && a.Policy.Restart == invariants.RestartUndeclared:
		errs = append(errs, fmt.Errorf("adapter %q: there is a Resume, and Policy.Restart does not say what a restart leads to: say RestartResumes or RestartInterrupts, or take Resume out", a.Name))
	case a.Resume == nil && a.Policy.Restart != invariants.RestartUndeclared:
		errs = append(errs, fmt.Errorf("adapter %q: Policy.Restart is %q and Resume is nil, so that nothing holds the code to it: give the function that builds the code anew after a crash, or clear Policy.Restart", a.Name, a.Policy.Restart))
	}
	if a.Policy.Restart == invariants.RestartInterrupts && a.Reason == nil {
		errs = append(errs, fmt.Errorf("adapter %q: Policy.Restart is RestartInterrupts and Reason is nil: give the function that tells which error says trace.ReasonInterrupted", a.Name))
	}
	if a.HandedBack != nil && a.Resume == nil {
		errs = append(errs, fmt.Errorf("adapter %q: there is a HandedBack and Resume is nil, so that nobody goes on with what is handed back: give the function that builds the code anew, or take HandedBack out", a.Name))
	}
	if a.HandedBack == nil && a.Policy.Drain != invariants.DrainUndeclared {
		errs = append(errs, fmt.Errorf("adapter %q: Policy.Drain is %q and HandedBack is nil, so that nothing holds the code to it: give the function that tells which error hands the action back, or clear Policy.Drain", a.Name, a.Policy.Drain))
	}
	if a.Resume != nil && len(a.guards()) > 0 {
		errs = append(errs, fmt.Errorf("adapter %q: there is a Resume and a Breaker, or Breakers, and what a breaker keeps over a restart cannot be declared: test them with an adapter each", a.Name))
	}
	return errs
}

// crash draws one crash of the action, now and then a second: in flight, around
// an answer, in the wait, or at a write. The caller's deadline and cancels are
// taken out, since the caller is gone with the process.
func (d *drawer) crash(t *source, p *Plan) {
	p.orphan()
	for again := true; again; again = oneIn(t, 2) {
		switch below(t, 4) {
		case 0:
			p.CrashBeforeWrite = 1 + below(t, 8)
		case 1:
			p.CrashAfterWrite = 1 + below(t, 8)
		default:
			d.crashAttempt(t, p, &d.tools[below(t, len(d.tools))])
		}
	}
	p.Restart = d.downtime(t)
}

// orphan takes out what a caller does, who is gone with the process.
func (p *Plan) orphan() {
	p.Deadline, p.Cancel = 0, 0
	for _, faults := range p.Faults {
		for n := range faults {
			faults[n].Cancel = 0
		}
	}
}

// downtime draws a restart before or after the instant of the next attempt.
func (d *drawer) downtime(t *source) time.Duration {
	_, hi := d.p.Backoff.Window(1, 0)
	return odd([...]time.Duration{usualDowntime, hi/4 + time.Microsecond, 2*hi + time.Millisecond, time.Hour}[below(t, 4)])
}

// crashAttempt puts a crash at one of the tool's attempts.
func (d *drawer) crashAttempt(t *source, p *Plan, tool *drawnTool) {
	f, n := d.anyAttempt(t, p, tool)
	f.Crash = d.cancel(t, f, n)
}

// anyAttempt is one of the tool's attempts and its number, of which the last may
// be one that nothing else is wrong with.
func (d *drawer) anyAttempt(t *source, p *Plan, tool *drawnTool) (*Fault, int) {
	n := below(t, len(p.Faults[tool.name])+1)
	if n == len(p.Faults[tool.name]) {
		p.Faults[tool.name] = append(p.Faults[tool.name], Fault{Latency: d.latency(t)})
	}
	return &p.Faults[tool.name][n], n + 1
}
