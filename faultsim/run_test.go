package faultsim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var errBusy = errors.New("busy")
var errForbidden = errors.New("forbidden")

func home(attempts int) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast",
		Policy: invariants.Policy{ID: "home/v1", MaxAttempts: attempts, Retry: []trace.Class{trace.Transient, trace.Throttled, trace.Timeout},
			Backoff: invariants.Backoff{Base: 100 * time.Millisecond}, Attempt: 5 * time.Second, Repeatable: true, Late: invariants.LateWait},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			tool := faultsim.Tool(s, "weather", func(ctx context.Context, city string) (int, error) { return 19, nil },
				faultsim.Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
			return func(ctx context.Context) (any, error) { return retry(ctx, tool, "Pune", attempts) }
		},
	}
}

func retry(ctx context.Context, tool trace.Func[string, int], city string, attempts int) (int, error) {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		actx, cancel := context.WithTimeout(ctx, 5*time.Second)
		out, err := tool(actx, city)
		cancel()
		if err == nil {
			return out, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if n == attempts || !(errors.Is(err, errBusy) || errors.Is(err, context.DeadlineExceeded)) {
			return 0, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
		wait *= 2
	}
}

func TestRunOfRightSubjectFindsNothing(t *testing.T) {
	tr := faultsim.Run(t, home(3), faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient)))
	t.Log("\n" + tr.Timeline())
	faultsim.Run(t, home(3), faultsim.One(faultsim.Fault{Hang: true}, faultsim.Fault{Class: trace.Transient, Latency: 1}, faultsim.Fail(trace.Forbidden)))
	s := faultsim.One(faultsim.Fault{Hang: true})
	s.Actions[0].Cancel = time.Second
	faultsim.Run(t, home(3), s)
	s.Actions[0].Cancel = -1
	tr = faultsim.Run(t, home(3), s)
	t.Log("\n" + tr.Timeline())
}

func TestCheckOfRightSubject(t *testing.T) {
	faultsim.Check(t, home(3))
}
