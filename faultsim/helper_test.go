package faultsim

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// golden compares text with testdata/golden/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	gold.Equal(t, filepath.Join("testdata", "golden", name+".golden"), got)
}

var (
	errBusy      = errors.New("busy")
	errForbidden = errors.New("forbidden")
)

// homePolicy is what homeAdapter's subject does.
func homePolicy() invariants.Policy {
	return invariants.Policy{
		ID: "home/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient, trace.Timeout},
		Backoff: invariants.Backoff{Base: 100 * time.Millisecond}, Attempt: 5 * time.Second,
		Repeatable: true, Late: invariants.LateWait,
	}
}

// homeAdapter plugs in a loop that keeps its policy.
func homeAdapter() Adapter {
	return loopAdapter(loop{attempts: 3})
}

func loopAdapter(l loop) Adapter {
	return Adapter{
		Name: "forecast", Policy: homePolicy(),
		Subject: func(s *Stage) Action {
			l := l
			l.tool = Tool(s, "weather", func(ctx context.Context, city string) (int, error) { return 19, nil },
				Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
			return func(ctx context.Context) (any, error) { return l.run(ctx, "Pune") }
		},
	}
}

// subjectAdapter plugs in a bare function of one tool.
func subjectAdapter(run func(ctx context.Context, s *Stage, tool trace.Func[string, int]) (any, error)) Adapter {
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(ctx context.Context, city string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
		return func(ctx context.Context) (any, error) { return run(ctx, s, tool) }
	}
	return a
}

// A loop retries a tool by homePolicy, apart from the faults that are built in.
type loop struct {
	tool     trace.Func[string, int]
	attempts int
	keep     bool // it retries what it must not
	deaf     bool // it does not look at the context while it waits
}

func (l *loop) run(ctx context.Context, city string) (int, error) {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		actx, cancel := context.WithTimeout(ctx, 5*time.Second)
		out, err := l.tool(actx, city)
		cancel()
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case n == l.attempts, !l.keep && errors.Is(err, errForbidden):
			return 0, err
		}
		if l.deaf {
			time.Sleep(wait)
		} else if err := pause(ctx, wait); err != nil {
			return 0, err
		}
		wait *= 2
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// names lists the invariants of findings, each once.
func names(found []invariants.Finding) []string {
	var list []string
	seen := map[string]bool{}
	for _, f := range found {
		if !seen[f.Invariant] {
			list = append(list, f.Invariant)
			seen[f.Invariant] = true
		}
	}
	return list
}

// smallerThan yields the schedules that are one step simpler.
func smallerThan(s Schedule, d *drawer) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for change := range steps(s, d) {
			if !yield(with(s, change)) {
				return
			}
		}
	}
}
