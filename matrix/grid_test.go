package matrix_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// scenarios are matrices whose output is a golden file.
var scenarios = map[string]func(*testing.T){
	// Rows that the tool cannot show or the policy makes pointless.
	"skips": func(t *testing.T) {
		a := loop(once())
		a.Subject = on(a.Policy, faultsim.Errors{trace.Forbidden: errs[trace.Forbidden]})
		matrix.Run(t, a)
	},
	"own-rows": func(t *testing.T) {
		matrix.Run(t, loop(read),
			row("fits", faultsim.Schedule{Actions: []faultsim.Plan{
				{Faults: map[string][]faultsim.Fault{"tool": {faultsim.Fail(trace.Transient)}}},
				{Faults: map[string][]faultsim.Fault{faultsim.Main: {faultsim.Fail(trace.Invalid)}}},
			}}),
			// The main tool's own name goes before the general one.
			row("both-names", faultsim.Schedule{Actions: []faultsim.Plan{{Faults: map[string][]faultsim.Fault{
				"tool":        {faultsim.Fail(trace.Transient)},
				faultsim.Main: {faultsim.Fail(trace.Invalid), faultsim.Fail(trace.Forbidden)},
			}}}}),
			row("cannot-show", faultsim.One(faultsim.Fail(trace.Conflict))),
			matrix.Row{Name: "not-for", Schedule: func(s matrix.Setting) (faultsim.Schedule, error) {
				return faultsim.Schedule{}, matrix.NotFor("only for %s", "payments")
			}})
	},
	"rows-that-cannot-run": func(t *testing.T) {
		matrix.Run(t, loop(read),
			row("no-such-tool", faultsim.Schedule{Actions: []faultsim.Plan{
				{Faults: map[string][]faultsim.Fault{"toool": {faultsim.Fail(trace.Transient)}}},
			}}),
			row("negative", faultsim.One(faultsim.Fault{Latency: -1})),
			matrix.Row{Name: "panics", Schedule: func(s matrix.Setting) (faultsim.Schedule, error) {
				return faultsim.One([]faultsim.Fault{}[1:2]...), nil
			}})
	},
	"frozen": func(t *testing.T) {
		matrix.Run(t, loop(read), matrix.Row{Name: "stands-still", Schedule: func(matrix.Setting) (faultsim.Schedule, error) {
			return faultsim.Schedule{}, &faultsim.FrozenError{Report: "frozen-clock: loop: virtual time has stood still"}
		}}, row("behind-it", faultsim.One()))
	},
	"unusable-rows": func(t *testing.T) {
		matrix.Run(t, loop(read), matrix.Row{}, matrix.Row{Name: "empty"}, row("immediate-success", faultsim.One()))
	},
	"unusable-adapter": func(t *testing.T) { matrix.Run(t, faultsim.Adapter{}) },
	// Outages and quotas of the main tool, by its own name, and one of no tool.
	"spells": func(t *testing.T) {
		down := faultsim.Schedule{Outages: []faultsim.Outage{{Tool: "tool", To: 150 * time.Millisecond, Class: trace.Transient}}}
		nobody := faultsim.Schedule{Outages: []faultsim.Outage{{Tool: "tol", To: time.Second, Class: trace.Transient}}}
		matrix.Run(t, loop(read), row("down-for-two-attempts", down), row("a-typo", nobody))
	},
	"wrong-count": func(t *testing.T) {
		a := loop(read)
		a.Subject = on(with(a.Policy, func(p *invariants.Policy) { p.MaxAttempts = 4 }), errs)
		matrix.Run(t, a)
	},
	// Calls and terminal are right, and a rule is broken.
	"wrong-wait": func(t *testing.T) {
		a := loop(read)
		a.Subject = on(with(a.Policy, func(p *invariants.Policy) { p.Backoff.Base = 30 * time.Millisecond }), errs)
		matrix.Run(t, a)
	},
	"accepted": func(t *testing.T) {
		a := loop(read)
		a.Subject = on(with(a.Policy, func(p *invariants.Policy) { p.MaxAttempts = 4 }), errs)
		a.Accept = map[string]string{"attempts-bounded": "the vendor makes one more", "conforms": "as above"}
		matrix.Run(t, a)
	},
	// The main tool is the first on the stage, not the first that is called.
	"two-tools": func(t *testing.T) {
		a := loop(read)
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			act := on(a.Policy, errs)(s)
			hello := faultsim.Tool[struct{}, int](s, "hello", nil, nil)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if _, err := hello(ctx, struct{}{}); err != nil { // while the code is built
				panic(err)
			}
			login := faultsim.Tool(s, "login", func(context.Context, struct{}) (string, error) { return "token", nil }, errs)
			return func(ctx context.Context) (any, error) {
				if _, err := try(ctx, a.Policy, func(ctx context.Context) (int, error) {
					_, err := login(ctx, struct{}{})
					return 0, err
				}); err != nil {
					return nil, err
				}
				return act(ctx)
			}
		}
		matrix.Run(t, a, row("login-refused", faultsim.Schedule{Actions: []faultsim.Plan{
			{Faults: map[string][]faultsim.Fault{"login": {faultsim.Fail(trace.Forbidden)}}},
		}}))
	},
	// The code under test is the tool, and gives a key away.
	"served": func(t *testing.T) { matrix.Run(t, specimen(t, "refund-by-key-only")) },
	// Where jitter decides whether an attempt fits, the count is a range.
	"ranges": func(t *testing.T) {
		p := with(read, func(p *invariants.Policy) {
			p.MaxAttempts, p.Backoff.Jitter = 5, invariants.Proportional(0.5)
		})
		f := faultsim.Fail(trace.Transient)
		s := faultsim.One(f, f, f, f, f)
		s.Actions[0].Deadline = 500*time.Millisecond + 1
		matrix.Run(t, loop(p), row("late", s))
	},
}

func TestGridReadsWell(t *testing.T) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			out, _ := selftest.Run(t, ".", "TestScenario/"+name, "-test.v")
			out = endsInOrder(regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(out, "_test.go:1"))
			gold.Equal(t, filepath.Join("testdata", name+".golden"), out)
		})
	}
}

// endsInOrder puts ends at one instant, whose order is chance, in that of their
// actions.
func endsInOrder(text string) string {
	end := regexp.MustCompile(`^[ >]*(\S+) +(\S+) +end `)
	lines := strings.SplitAfter(text, "\n")
	for i := 1; i < len(lines); i++ {
		for j := i; j > 0; j-- {
			a, b := end.FindStringSubmatch(lines[j-1]), end.FindStringSubmatch(lines[j])
			if a == nil || b == nil || a[1] != b[1] || a[2] <= b[2] {
				break
			}
			lines[j-1], lines[j] = lines[j], lines[j-1]
		}
	}
	return strings.Join(lines, "")
}

func TestScenario(t *testing.T) {
	if !selftest.Active() {
		t.Skip("run by TestGridReadsWell")
	}
	for name, run := range scenarios {
		t.Run(name, run)
	}
}

func row(name string, s faultsim.Schedule) matrix.Row {
	return matrix.Row{Name: name, Proves: "It shows how a row of one's own reads.", Schedule: matrix.Fixed(s)}
}

func with(p invariants.Policy, change func(*invariants.Policy)) invariants.Policy {
	change(&p)
	return p
}

func once() invariants.Policy {
	return with(read, func(p *invariants.Policy) { p.ID, p.MaxAttempts, p.Attempt, p.Retry = "once/v1", 1, 0, nil })
}

// on builds the loop for a policy, which need not be the one that is promised.
func on(p invariants.Policy, errs faultsim.Errors) func(*faultsim.Stage) faultsim.Action {
	return func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, errs)
		return func(ctx context.Context) (any, error) {
			return try(ctx, p, func(ctx context.Context) (int, error) { return tool(ctx, args{City: "Pune"}) })
		}
	}
}

// Play gives the same rows without reporting them.
func TestPlayReturnsWhatBecameOfEachRow(t *testing.T) {
	a := loop(read)
	a.Subject = on(with(a.Policy, func(p *invariants.Policy) { p.MaxAttempts = 4 }), faultsim.Errors{trace.Transient: errs[trace.Transient]})
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	complaints, skipped := map[string]string{}, map[string]string{}
	for _, p := range played {
		if p.Complaint != "" {
			complaints[p.Row.Name] = p.Complaint
		}
		if p.Skipped != nil {
			skipped[p.Row.Name] = p.Skipped.Error()
		}
	}
	require.Equal(t, map[string]string{
		"transient-until-exhausted":   "4 calls, the policy calls for 3",
		"calm-after-the-last-attempt": "4 calls, the policy calls for 3", "failure-not-replayed": "4 calls, the policy calls for 3",
	}, complaints)
	require.Subset(t, skipped, map[string]string{
		"invalid-arguments":         "the tool cannot answer invalid",
		"permission-denied":         "the tool cannot answer forbidden",
		"transient-invalid-success": "the tool cannot answer invalid",
	})
	require.NotContains(t, skipped, "transient-then-success")
	_, err = matrix.Play(t, a, row("no-such-tool", faultsim.Schedule{Actions: []faultsim.Plan{{Faults: map[string][]faultsim.Fault{"x": nil}}}}))
	require.EqualError(t, err, `no-such-tool: matrix: row "no-such-tool" speaks of tool "x", the stage has ["tool"]: correct the name, or return NotFor`)
}

// A write that a cancel or a deadline interrupts may have been done: that its
// outcome is unknown is as true as how its time ended. That it was refused is
// not, and neither is either of an action that made no call.
func TestARowTakesEveryTrueReasonOfItsEnd(t *testing.T) {
	complaints := func(says trace.Reason) map[string]string {
		a := loop(with(once(), func(p *invariants.Policy) { p.Repeatable = false }))
		a.Reason = func(err error) trace.Reason {
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				return says
			}
			return 0
		}
		played, err := matrix.Play(t, a)
		require.NoError(t, err)
		found := map[string]string{}
		for _, p := range played {
			if p.Complaint != "" {
				found[p.Row.Name] = p.Complaint
			}
		}
		return found
	}
	unbegun := "ended as outcome-unknown, the policy calls for cancelled"
	require.Equal(t, map[string]string{"cancel-before-begin": unbegun}, complaints(trace.ReasonOutcomeUnknown))
	require.Equal(t, "breaks conforms", complaints(trace.ReasonRefused)["cancel-in-flight"])
}
