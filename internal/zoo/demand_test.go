package zoo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// What an adapter does not bring about is not demanded of it: tools that fail in one
// way or two, under policies that promise little, leave no gap.
func TestNothingIsDemandedInVain(t *testing.T) {
	policies := []invariants.Policy{
		with(func(p *invariants.Policy) { p.ID, p.Retry = "retries much", append(p.Retry, trace.Reset) }),
		with(func(p *invariants.Policy) { p.ID, p.Retry = "retries nothing", nil }),
		with(func(p *invariants.Policy) { p.ID, p.MaxAttempts = "tries once", 1 }),
		with(func(p *invariants.Policy) { p.ID, p.Hint.Use = "ignores hints", invariants.HintIgnore }),
		with(func(p *invariants.Policy) { p.ID, p.Attempt = "has time", 0 }),
		with(func(p *invariants.Policy) { p.ID, p.Repeatable = "writes", false }),
		with(func(p *invariants.Policy) {
			p.ID, p.MaxAttempts, p.Budget, p.BudgetLate = "has a budget", invariants.Unlimited, time.Minute, invariants.LateWait
		}),
	}
	fails := [][]trace.Class{{trace.Transient}, {trace.Throttled}, {trace.Reset}, {trace.Forbidden}, {trace.Throttled, trace.Forbidden}}
	played := 0
	for _, p := range policies {
		for _, classes := range fails {
			a := agents(p, plainly(classes...), follows(p))
			if _, _, err := faultsim.Tools(t, a); err != nil {
				continue // nothing causes a retry, which is an error of its own
			}
			played++
			t.Run(fmt.Sprintf("%s/%v", p.ID, classes), func(t *testing.T) {
				a.Trials = 500
				o, err := faultsim.Explore(t, a)
				require.NoError(t, err)
				require.Empty(t, o.Findings, "%s\n%v", o.Schedule, o.Trace)
				require.Empty(t, o.Gaps)
			})
		}
	}
	require.Greater(t, played, len(policies)*len(fails)/2)
}

// plainly is how a tool fails that can fail in the given ways.
func plainly(classes ...trace.Class) faultsim.Errors {
	errs := faultsim.Errors{}
	for _, c := range classes {
		errs[c] = &plainError{trace.Outcome{Class: c}}
		if c == trace.Throttled {
			errs[c] = faultsim.Hinted(func(hint time.Duration) error { return &plainError{trace.Outcome{Class: c, Hint: hint}} })
		}
	}
	return errs
}

type plainError struct{ outcome trace.Outcome }

func (e *plainError) Error() string          { return e.outcome.Class.String() }
func (e *plainError) Outcome() trace.Outcome { return e.outcome }

// follows is an agent that does what the policy's automaton says.
func follows(p invariants.Policy) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		begin := time.Now()
		var deadline time.Duration
		if at, ok := ctx.Deadline(); ok {
			deadline = at.Sub(begin)
		}
		for s := p.Start(0, deadline); ; {
			if ctx.Err() != nil {
				return forecast{}, ctx.Err()
			}
			s.Began(time.Since(begin))
			f, err := within(ctx, &p, begin, call)
			if err == nil || ctx.Err() != nil {
				return f, err
			}
			d := s.Next(trace.Classify(err), time.Since(begin))
			if d.Do == invariants.Stop {
				return forecast{}, err
			}
			if wait := sleep(ctx, d.Lo); wait != nil {
				return forecast{}, err
			}
			if p.Budget > 0 && time.Since(begin) >= p.Budget {
				return forecast{}, err
			}
		}
	}
}

// within makes one attempt in the time that the policy gives it.
func within(ctx context.Context, p *invariants.Policy, begin time.Time, call tool) (forecast, error) {
	end := func() {}
	if p.Attempt > 0 {
		ctx, end = context.WithTimeout(ctx, p.Attempt)
	}
	defer end()
	if p.Budget > 0 {
		inner, cancel := context.WithDeadline(ctx, begin.Add(p.Budget))
		defer cancel()
		ctx = inner
	}
	return call(ctx, pune)
}
