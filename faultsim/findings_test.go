package faultsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

type weatherTool = trace.Func[string, int]

// found runs one schedule and returns the texts of the findings of a rule.
func found(t *testing.T, a Adapter, s Schedule, rule string) string {
	t.Helper()
	r := Trial(t, a, s)
	require.NoError(t, r.Err)
	var texts []string
	for _, f := range r.Findings {
		if f.Invariant == rule {
			texts = append(texts, f.Text)
		}
	}
	require.NotEmpty(t, texts, "%v", r.Findings)
	return strings.Join(texts, "\n")
}

func TestActionThatNeverReturnsIsAHang(t *testing.T) {
	for name, block := range map[string]func(context.Context){
		"for ever":           func(context.Context) { select {} },
		"on the context":     func(ctx context.Context) { <-ctx.Done() },
		"in a ticking loop":  func(ctx context.Context) { forEver(ctx, time.Second) },
		"in slow long sleep": func(ctx context.Context) { time.Sleep(1 << 62) },
		"on a nil channel":   func(ctx context.Context) { <-(chan int)(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
				out, err := tool(ctx, "Pune")
				block(ctx)
				return out, err
			})
			require.Contains(t, found(t, a, One(), "returns"), "the action has not returned after 1m")
		})
	}
}

func forEver(ctx context.Context, d time.Duration) {
	for ctx.Err() == nil {
		time.Sleep(d)
	}
}

// The actions after one that hangs are played all the same.
func TestActionsAfterAHangRun(t *testing.T) {
	n := 0
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		if n++; n != 2 {
			return tool(ctx, "Pune")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := Trial(t, a, Schedule{Actions: make([]Plan, 4)})
	require.NoError(t, r.Err)
	require.Contains(t, names(r.Findings), "returns")
	actions := r.Trace.Actions()
	require.Len(t, actions, 4)
	for i, act := range actions {
		require.True(t, act.Ended, "%d", i)
		require.Len(t, act.Attempts, min(1, (i-1)*(i-1)), "%d", i)
	}
	r = Trial(t, a, Schedule{Actions: make([]Plan, 4), AtOnce: true})
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
}

func TestGoroutineLeftBehindIsALeak(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		go func() { select {} }()
		c := make(chan int)
		go func() { c <- 1 }()
		return tool(ctx, "Pune")
	})
	text := found(t, a, One(), "nothing-left")
	require.Regexp(t, `^something is still running after the action has returned: chan send in faultsim\.\S+ \(findings_test\.go:\d+\); select in faultsim\.\S+ \(findings_test\.go:\d+\)$`,
		strings.ReplaceAll(text, "select (no cases)", "select"))
}

// The goroutines that many trials leave behind do not slow Check down.
func TestChildLeaks(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action {
		action := inner(s)
		return func(ctx context.Context) (any, error) {
			out, err := action(ctx)
			if err != nil {
				for range 5 {
					go func() { select {} }()
				}
			}
			return out, err
		}
	}
	Check(t, a)
}

func TestCheckSaysWhereALeakIsBlocked(t *testing.T) {
	out, passed := newChild(t, "leak").run(t, "^TestChildLeaks$")
	require.False(t, passed)
	require.Regexp(t, `nothing-left: forecast: something is still running after the action has returned: select in faultsim\.TestChildLeaks\.\S+ \(findings_test\.go:\d+\)`, strings.ReplaceAll(out, "select (no cases)", "select"))
	require.Contains(t, out, "  weather 1 forbidden\n")
}

// A program may keep goroutines that end with the caller's context or with
// what the stage was told to close.
func TestWhatEndsAtCloseIsNoLeak(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Stage){
		"ends with the context": func(ctx context.Context, s *Stage) { go func() { <-ctx.Done() }() },
		"ends with Stage.Close": func(ctx context.Context, s *Stage) {
			done := make(chan struct{})
			go func() { <-done }()
			s.Close(func() { close(done) })
		},
		"ends by itself, later": func(ctx context.Context, s *Stage) { go time.Sleep(30 * time.Second) },
		"a timer that fires":    func(ctx context.Context, s *Stage) { time.AfterFunc(time.Second, func() {}) },
		"a ticker":              func(ctx context.Context, s *Stage) { time.NewTicker(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			r := Trial(t, subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
				run(ctx, s)
				return tool(ctx, "Pune")
			}), One())
			require.NoError(t, r.Err)
			require.Empty(t, r.Findings)
		})
	}
}

func TestStageClosesLastFirst(t *testing.T) {
	var order []int
	r := Trial(t, subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		s.Close(func() { order = append(order, 1) })
		s.Close(func() { order = append(order, 2) })
		return tool(ctx, "Pune")
	}), One())
	require.NoError(t, r.Err)
	require.Equal(t, []int{2, 1}, order)
}

func TestDetachedRetryIsSeen(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		out, err := tool(ctx, "Pune")
		if err != nil {
			go func() {
				time.Sleep(20 * time.Second)
				_, _ = tool(context.Background(), "Pune")
			}()
		}
		return out, err
	})
	require.Contains(t, found(t, a, One(Fail(trace.Transient)), "no-attempt-after-end"), "weather was called 20s after the action had returned")
}

func TestPanicInTheActionNamesItsPlace(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		_, _ = tool(ctx, "Pune")
		var m map[string]int
		m["x"] = 1
		return nil, nil
	})
	require.Regexp(t, `^the action panicked: assignment to entry in nil map at findings_test\.go:\d+$`, found(t, a, One(), "no-panic"))
	a = subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) { panic(nil) })
	require.Contains(t, found(t, a, One(), "no-panic"), "panic called with nil argument")
}

func TestActionThatEndsItsGoroutineIsAFinding(t *testing.T) {
	for name, s := range map[string]Schedule{"one": One(), "in turn": {Actions: make([]Plan, 3)}, "at once": {Actions: make([]Plan, 3), AtOnce: true}} {
		t.Run(name, func(t *testing.T) {
			a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
				_, _ = tool(ctx, "Pune")
				runtime.Goexit()
				return nil, nil
			})
			require.Contains(t, found(t, a, s, "no-panic"), "the action ended its goroutine without returning: runtime.Goexit, which is what t.FailNow and t.Fatal call")
		})
	}
}

func TestSubjectThatFails(t *testing.T) {
	for name, x := range map[string]struct {
		build func(*Stage) Action
		want  string
	}{
		"no action": {func(*Stage) Action { return nil }, `^faultsim: Subject of "forecast" returned no action: return the function that runs one$`},
		"panic":     {func(*Stage) Action { panic("no config") }, `^faultsim: Subject of "forecast" panicked: no config\n`},
		"goexit":    {func(*Stage) Action { runtime.Goexit(); return nil }, `^faultsim: Subject of "forecast" ended its goroutine \(t.FailNow, t.Fatal or runtime.Goexit\)`},
		"the same tool": {func(s *Stage) Action {
			Tool[int, int](s, "a", nil, nil)
			Tool[int, int](s, "a", nil, nil)
			return noAction
		}, `^faultsim: the stage has two tools named "a": give each its own name$`},
		"panic in Close": {func(s *Stage) Action {
			s.Close(func() { panic("closed twice") })
			return noAction
		}, `^faultsim: a function given to Stage.Close panicked: closed twice at findings_test.go:\d+$`},
	} {
		t.Run(name, func(t *testing.T) {
			a := homeAdapter()
			a.Subject = x.build
			r := Trial(t, a, Schedule{})
			require.Error(t, r.Err)
			require.Regexp(t, x.want, r.Err.Error())
			_, _, err := Tools(t, a)
			require.Error(t, err)
		})
	}
	a := homeAdapter()
	a.Subject = func(*Stage) Action { return noAction }
	_, _, err := Tools(t, a)
	require.EqualError(t, err, `faultsim: Subject of "forecast" put no tool on the stage: build the code on faultsim.Tool or Stage.Client`)
}

// A policy that retries what no tool can show would pass whatever the code does.
func TestRetriesThatNothingCanCauseAreAnError(t *testing.T) {
	a := homeAdapter()
	a.Policy.Attempt, a.Policy.Retry = 0, []trace.Class{trace.Throttled, trace.Timeout}
	_, _, err := Tools(t, a)
	require.EqualError(t, err, `faultsim: the policy of "forecast" retries [throttled timeout], and no tool on the stage can fail so: say in its Errors, or in the Failures of its Route, how such a failure looks`)
	a.Policy.Attempt = time.Second // any tool can hang
	_, _, err = Tools(t, a)
	require.NoError(t, err)
}

func noAction(context.Context) (any, error) { return nil, nil }

// t.Fatal of the test itself inside user code, with its real t.
func TestChildFatal(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	inner := a.Subject
	switch scenario {
	case "fatal in subject":
		a.Subject = func(s *Stage) Action { t.Fatal("cannot build"); return nil }
	case "fatal in action":
		a.Subject = func(s *Stage) Action {
			inner(s)
			return func(context.Context) (any, error) { t.Fatal("not so"); return nil, nil }
		}
	case "panic in goroutine":
		a.Subject = func(s *Stage) Action {
			act := inner(s)
			return func(ctx context.Context) (any, error) {
				go func() { panic("in the subject's own goroutine") }()
				return act(ctx)
			}
		}
	case "log and cleanup":
		a.Subject = func(s *Stage) Action {
			t.Helper()
			t.Log("building")
			_ = t.TempDir()
			t.Cleanup(func() {})
			if _, ok := t.Deadline(); !ok {
				t.Log("no deadline")
			}
			t.Error("wrong, but going on")
			return inner(s)
		}
		Run(t, a, One())
		return
	}
	Check(t, a)
}

func TestFatalInUserCodeIsReportedAndEndsNothingElse(t *testing.T) {
	for scenario, want := range map[string][]string{
		"fatal in subject":   {"cannot build", `Subject of "forecast" ended its goroutine`},
		"fatal in action":    {"not so", "no-panic: forecast: the action ended its goroutine without returning"},
		"log and cleanup":    {"building", "wrong, but going on"},
		"panic in goroutine": {"in the subject's own goroutine", "findings_test.go"},
	} {
		out, passed := newChild(t, scenario).run(t, "^TestChildFatal$")
		require.False(t, passed)
		for _, text := range want {
			require.Contains(t, out, text, scenario)
		}
		if scenario != "panic in goroutine" { // which nothing can contain
			require.Contains(t, out, "--- FAIL: TestChildFatal", scenario)
			require.NotContains(t, out, "[running]", scenario)
		}
	}
}

func TestLoopWithoutEndIsASpin(t *testing.T) {
	for name, a := range map[string]Adapter{
		"no wait": subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
			for {
				if out, err := tool(ctx, "Pune"); err == nil && out > 19 {
					return out, nil
				}
			}
		}),
		"ignores every error": subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
			for {
				_, _ = tool(ctx, "Pune")
				time.Sleep(time.Millisecond)
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "the action has called its tools 1007 times without an end in sight", found(t, a, One(Fail(trace.Transient)), "no-spin"))
		})
	}
}

// The finding counts the calls that the trace shows, of whichever tool.
func TestASpinCountsWhatTheActionHasCalled(t *testing.T) {
	two := homeAdapter()
	two.Subject = func(s *Stage) Action {
		weather, news := Tool[string, int](s, "weather", nil, Errors{trace.Transient: errBusy}), Tool[string, int](s, "news", nil, Errors{})
		return func(ctx context.Context) (any, error) {
			for n := 0; ; n++ {
				_, _ = weather(ctx, "Pune")
				_, _ = news(ctx, "Pune")
				if n == 100 {
					time.Sleep(time.Second)
				}
			}
		}
	}
	patient := two
	patient.Policy.MaxAttempts, patient.Policy.Budget = invariants.Unlimited, time.Hour
	for _, a := range []Adapter{two, patient} {
		r := Trial(t, a, One())
		require.NoError(t, r.Err)
		calls := len(r.Trace.Actions()[0].Attempts)
		i := slices.IndexFunc(r.Findings, func(f invariants.Finding) bool { return f.Invariant == "no-spin" })
		require.Contains(t, r.Findings[i].Text, fmt.Sprintf("the action has called its tools %d times ", calls))
	}
}

var outside = make(chan int)

// Each of them stops virtual time. The report says which it is and where.
func TestFrozenClockNamesTheCauseAndThePlace(t *testing.T) {
	defer func(d time.Duration) { frozenAfter = d }(frozenAfter)
	frozenAfter = 200 * time.Millisecond
	real, end, err := os.Pipe() // waits as a socket does
	require.NoError(t, err)
	release := make(chan struct{})
	t.Cleanup(func() { close(release); end.Close() })
	var mu sync.Mutex
	for name, x := range map[string]struct {
		run  func(ctx context.Context, tool weatherTool)
		want string
	}{
		"a mutex held while waiting": {func(ctx context.Context, tool weatherTool) {
			mu.Lock()
			go func() { time.Sleep(time.Second); mu.Unlock() }()
			mu.Lock()
			mu.Unlock()
		}, "waits for a mutex that another goroutine holds while it waits"},
		"a real file":            {func(ctx context.Context, tool weatherTool) { _, _ = real.Read(make([]byte, 1)) }, "waits for the real world (network, file, process)"},
		"a channel from outside": {func(ctx context.Context, tool weatherTool) { <-release }, "waits for a channel that was made outside the bubble"},
		"a select on a channel from outside": {func(ctx context.Context, tool weatherTool) {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}, "waits for a channel that was made outside the bubble"},
		"an endless loop": {func(ctx context.Context, tool weatherTool) {
			for {
				select {
				case <-release:
					return
				default:
				}
			}
		}, "computes without end and without waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
				_, _ = tool(ctx, "Pune")
				x.run(ctx, tool)
				return nil, errBusy
			})
			a.Unseeded = true // a frozen trial keeps others from being seeded, until it ends
			r := Trial(t, a, One(Fail(trace.Transient)))
			_, ok := errors.AsType[*FrozenError](r.Err)
			require.True(t, ok, "%v", r.Err)
			first, rest, _ := strings.Cut(r.Err.Error(), "\n")
			require.Contains(t, first, "frozen-clock: forecast: virtual time has stood still for 200ms of real time: faultsim.TestFrozenClockNamesTheCauseAndThePlace.func")
			require.Contains(t, first, "(findings_test.go:")
			require.Contains(t, first, x.want)
			require.Contains(t, rest, "busy", "what was recorded until then")
		})
	}
}

// A frozen trial ends Check as well, in a run of its own since its goroutines
// stay behind, and its case is replayed without hanging the test.
func TestChildFrozen(t *testing.T) {
	childOnly(t)
	frozenAfter = 300 * time.Millisecond
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		out, err := tool(ctx, "Pune")
		if err != nil {
			<-outside
		}
		return out, err
	})
	Check(t, a)
}

func TestFrozenTrialOfCheckIsSavedAndReplayed(t *testing.T) {
	c := newChild(t, "frozen")
	out, passed := c.run(t, "^TestChildFrozen$")
	require.False(t, passed)
	require.Contains(t, out, "frozen-clock: forecast: virtual time has stood still for 300ms of real time: faultsim.TestChildFrozen.func1 (findings_test.go:")
	require.Contains(t, out, "waits for a channel that was made outside the bubble")
	require.Len(t, c.cases(t), 1)
	out, passed = c.run(t, "^TestChildFrozen$")
	require.False(t, passed)
	require.Contains(t, out, "frozen-clock: forecast:")
	require.Contains(t, out, "saved case testdata/rehearse/TestChildFrozen/frozen-clock-")
}

// An HTTP client that is not the stage's, with a transport that dials.
func TestRealTransportIsSeenAsWhatItIs(t *testing.T) {
	defer func(d time.Duration) { frozenAfter = d }(frozenAfter)
	frozenAfter = 200 * time.Millisecond
	real, end, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { end.Close() })
	dial := func(context.Context, string, string) (net.Conn, error) {
		_, err := real.Read(make([]byte, 1))
		return nil, err
	}
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		_, _ = tool(ctx, "Pune")
		resp, err := (&http.Client{Transport: &http.Transport{DialContext: dial}}).Get("http://weather.test/")
		if err == nil {
			resp.Body.Close()
		}
		return nil, err
	})
	r := Trial(t, a, One())
	require.Error(t, r.Err)
	require.Contains(t, r.Err.Error(), "waits for the real world")
}

// A data race in the subject fails the test in a bubble of its own, whose end
// must not be taken for a clock that stands still.
func TestChildRace(t *testing.T) {
	childOnly(t)
	shared := 0
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action {
		action := inner(s)
		return func(ctx context.Context) (any, error) {
			go func() { shared++ }()
			shared++
			return action(ctx)
		}
	}
	Check(t, a)
}

func TestRaceInTheSubjectIsReportedWithItsSchedule(t *testing.T) {
	out, passed := newChild(t, "race").run(t, "^TestChildRace$")
	if passed {
		t.Skip("the race detector is off")
	}
	require.Contains(t, out, "DATA RACE")
	require.Contains(t, out, "the trial was ended by its test")
	require.Contains(t, out, "rehearse schedule 1")
	require.NotContains(t, out, "frozen")
}

// Jitter from an unseeded source: the verdict is the same each time, since
// windows are judged and not values.
func TestUnseededJitterHasOneVerdict(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		for n := 1; ; n++ {
			out, err := tool(ctx, "Pune")
			if err == nil || n == 3 || errors.Is(err, errForbidden) {
				return out, err
			}
			if err := pause(ctx, time.Duration(rand.Float64()*float64(100*time.Millisecond<<(n-1)))); err != nil {
				return 0, err
			}
		}
	})
	a.Policy.Backoff.Jitter.High, a.Policy.Attempt = 1, 0
	s := One(Fail(trace.Transient), Fail(trace.Transient), Fail(trace.Transient))
	for range 200 {
		r := Trial(t, a, s)
		require.NoError(t, r.Err)
		require.Empty(t, r.Findings)
	}
}

func TestTrialsBeginAtARealisticDate(t *testing.T) {
	Run(t, subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		if y := time.Now().Year(); y < 2026 {
			return nil, fmt.Errorf("the year is %d", y)
		}
		return tool(ctx, "Pune")
	}), One())
}

// Code that does not return for hours breaks rules at the begin of a long trace: the one
// that broke first leads, as few attempts show it.
func TestWhatBrokeFirstLeadsALongTraceThatDoesNotReturn(t *testing.T) {
	found := func(names ...string) (list []invariants.Finding) {
		for i, name := range names {
			list = append(list, invariants.Finding{Invariant: name, Events: []int{0, 100 - 10*i}})
		}
		return append(list, invariants.Finding{Invariant: "without-events"}, invariants.Finding{Invariant: catchAll, Events: []int{1}})
	}
	leads := func(events int, list []invariants.Finding) string {
		r := result{tr: &trace.Trace{Events: make([]trace.Event, events)}, found: list}
		r.leadsShort()
		require.ElementsMatch(t, list, r.found)
		return r.found[0].Invariant
	}
	require.Equal(t, "earlier", leads(longTrace, found("returns", "early", "earlier")))
	require.Equal(t, "returns", leads(longTrace-1, found("returns", "early", "earlier")), "of a short trace")
	require.Equal(t, "early", leads(longTrace, found("early", "returns", "earlier")), "it leads by its order")
	require.Equal(t, "returns", leads(longTrace, found("returns")), "nothing else says more")
}
