package faultsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

// A forecaster asks for the weather, five times at most.
type forecaster struct {
	alike   bool                  // no jitter
	breaker bool                  // a switchboard in front of the tool
	budget  int                   // calls that the actions of the process have together; 0: any number
	random  func() func() float64 // in place of the stage's jitter; nil: that
	lost    bool                  // it does not hand its context on
	own     time.Duration         // limit of an attempt; 0: none
}

var (
	errOpen  = errors.New("open")
	errSpent = errors.New("spent")
	errSlow  = errors.New("slow down")
)

func forecasterAdapter(c forecaster) Adapter {
	p := invariants.Policy{
		ID: "caller/v1", MaxAttempts: 5, Retry: []trace.Class{trace.Transient, trace.Timeout}, Repeatable: true, Late: invariants.LateWait,
		Attempt: c.own, Backoff: invariants.Backoff{Base: 100 * ms, Jitter: invariants.FullJitter},
	}
	if c.alike {
		p.Backoff.Jitter = invariants.Jitter{}
	}
	a := Adapter{Name: "forecast", Policy: p, Reason: func(err error) trace.Reason {
		switch {
		case errors.Is(err, errOpen):
			return trace.ReasonBreakerOpen
		case errors.Is(err, errSpent):
			return trace.ReasonBudget
		}
		return 0
	}}
	if c.breaker {
		a.Breaker = &invariants.Breaker{Consecutive: 1, Cooldown: 10 * time.Second}
	}
	if c.budget > 0 {
		a.Allowance = &invariants.Allowance{Calls: c.budget}
	}
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(time.Duration) error { return errSlow })})
		random := s.Jitter().Float64
		if c.random != nil {
			random = c.random()
		}
		p := &working{forecaster: c, tool: tool, random: random, budget: c.budget}
		return p.forecast
	}
	return a
}

// working is a forecaster at work, in a process of its own.
type working struct {
	forecaster
	tool   trace.Func[string, int]
	random func() float64
	board  switchboard
	mu     sync.Mutex
	budget int
}

func (p *working) forecast(ctx context.Context) (any, error) {
	wait := 100 * ms
	for n := 1; ; n++ {
		out, err := p.once(ctx)
		again := errors.Is(err, errBusy) || p.own > 0 && errors.Is(err, context.DeadlineExceeded)
		if n == 5 || !again || ctx.Err() != nil {
			return out, err
		}
		d := wait
		if !p.alike {
			d = time.Duration(p.random() * float64(wait))
		}
		if err := pause(ctx, d); err != nil {
			return 0, err
		}
		wait *= 2
	}
}

func (p *working) once(ctx context.Context) (out int, err error) {
	if p.breaker && !p.board.enter() {
		return 0, errOpen
	}
	if p.forecaster.budget > 0 && !p.spends() {
		return 0, errSpent
	}
	if p.lost {
		ctx = context.Background()
	}
	if p.own > 0 {
		limited, cancel := context.WithTimeout(ctx, p.own)
		defer cancel()
		ctx = limited
	}
	out, err = p.tool(ctx, "Pune")
	if p.breaker {
		p.board.leave(err)
	}
	return out, err
}

func (p *working) spends() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget--
	return p.budget >= 0
}

// outage is a service that has an outage.
func outage(from, to time.Duration) Service {
	return Service{Workers: 50, Serve: 10 * ms, Queue: 100, Outages: []Outage{{From: from, To: to, Class: trace.Transient}}}
}

// The same fleet gives the same load, wherever chance has a part in it; another seed
// gives another.
func TestAFleetCanBePlayedAgain(t *testing.T) {
	f := Fleet{
		Adapter: forecasterAdapter(forecaster{own: 80 * ms}), Agents: 200, Actions: 2, Pause: 100 * ms, Arrive: Independently(2 * ms),
		Service: Service{Workers: 4, Drawn: Exponential(10 * ms), Queue: 20, Leave: true, Outages: []Outage{{From: 100 * ms, To: 200 * ms, Class: trace.Transient}}, Quota: Quota{N: 300, Per: 500 * ms}},
	}
	play := func() string {
		load := Play(t, f)
		s := load.Service
		require.NotZero(t, min(s.Answered, s.Refused, s.Throttled, s.Down, s.Left), "%+v", s)
		return fmt.Sprint(load, load.calls, load.retries)
	}
	once := play()
	for range 3 {
		require.Equal(t, once, play())
	}
	f.Seed = 1
	require.NotEqual(t, once, play())
}

// Calls that come at one nanosecond are served in the order of their agents, and so
// the same ones each time.
func TestCallsOfOneInstantAreServedInOrder(t *testing.T) {
	f := Fleet{
		Adapter: subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
			time.Sleep(time.Until(epoch.Add(time.Second)))
			return tool(ctx, "Pune")
		}),
		Agents: 40, Service: Service{Workers: 2, Serve: ms, Queue: 3},
	}
	for range 20 {
		load, err := Simulate(t, f) // to wait before the first attempt breaks the policy
		require.NoError(t, err)
		require.Equal(t, 35, load.Service.Refused)
		for i, a := range load.Trace.Actions() {
			require.Equal(t, i < 5, a.Error == "", "agent %d", i+1)
		}
	}
}

// The whole fleet is the queue that its station is: M/D/1, fed by agents.
func TestAFleetWaitsInLine(t *testing.T) {
	load := Play(t, Fleet{
		Adapter: homeAdapter(), Agents: 1500, Arrive: Independently(20 * ms),
		Service: Service{Workers: 1, Serve: 10 * ms, Queue: invariants.Unlimited},
	})
	require.Equal(t, map[trace.Reason]int{trace.ReasonSuccess: 1500}, load.Ends)
	require.InEpsilon(t, 0.5, load.Service.Busy, 0.05)
	require.InEpsilon(t, 0.5/(2*0.5)*10*ms.Seconds(), load.Service.Wait.Seconds(), 0.1)
	for a := range load.Trace.Attempts() {
		require.GreaterOrEqual(t, a.End-a.Begin, 10*ms, "nobody is answered before a worker has done it")
	}
}

// What finds the line full is refused as the service says, with the hint that it says.
func TestAFullLineRefuses(t *testing.T) {
	f := Fleet{Adapter: forecasterAdapter(forecaster{}), Agents: 10, Service: Service{Workers: 1, Serve: time.Second, Queue: 2, Full: trace.Throttled, Hint: 7 * time.Second}}
	load := Play(t, f)
	require.Equal(t, 7, load.Service.Refused)
	require.Equal(t, map[trace.Reason]int{trace.ReasonSuccess: 3, trace.ReasonRefused: 7}, load.Ends, "the policy does not repeat what is throttled")
	refused := 0
	for a := range load.Trace.Attempts() {
		if a.Outcome.Class == trace.Throttled {
			refused++
			require.Equal(t, 7*time.Second, a.Outcome.Hint)
		}
	}
	require.Equal(t, 7, refused)

	f.Service.Full, f.Service.Hint, f.Adapter = 0, 0, homeAdapter()
	require.NotZero(t, Play(t, f).Retries, "transient, where nothing is said")
}

// A service that does not hear of callers who give up works for nobody, and does what
// they asked for all the same; one that hears of them has its line to itself.
func TestCallersWhoGiveUp(t *testing.T) {
	f := Fleet{Adapter: forecasterAdapter(forecaster{}), Agents: 10, Plan: Plan{Deadline: 250 * ms}, Service: Service{Workers: 1, Serve: 100 * ms, Queue: 100}}
	effects := func(l *Load) (n int) {
		for _, e := range l.Trace.Events {
			if e.Kind == trace.KindEffect {
				n++
			}
		}
		return n
	}
	load := Play(t, f)
	require.Equal(t, map[trace.Reason]int{trace.ReasonSuccess: 2, trace.ReasonDeadline: 8}, load.Ends)
	require.Equal(t, ServiceLoad{Answered: 10, Left: 8, Wasted: 8, Wait: load.Service.Wait, Busy: 1}, load.Service)
	require.Equal(t, 10, effects(load))

	f.Service.Leave = true
	load = Play(t, f)
	require.Equal(t, ServiceLoad{Answered: 3, Left: 8, Wasted: 1, Wait: load.Service.Wait, Busy: 1}, load.Service)
	require.Equal(t, 3, effects(load), "work that has begun goes on")
}

// Without jitter the callers come back in waves, and with it they do not.
func TestJitterSpreadsAFleet(t *testing.T) {
	for _, agents := range []int{100, 1000} {
		f := Fleet{Adapter: forecasterAdapter(forecaster{alike: true}), Agents: agents, Service: outage(0, 10*time.Second)}
		alike := Play(t, f)
		f.Adapter = forecasterAdapter(forecaster{})
		spread := Play(t, f)
		require.Greater(t, alike.Synchrony(10*ms), 9.9)
		require.Less(t, spread.Synchrony(10*ms), 1.5)
		require.Equal(t, agents, alike.Peak(ms), "all of them within a millisecond, four times more")
		require.Less(t, spread.Peak(ms), agents*2, "%d", spread.Peak(ms))
		require.Equal(t, 5.0, alike.Amplification())
		require.Equal(t, 5.0, spread.Amplification())
	}
}

// In an outage every caller makes all its attempts, unless a breaker or a budget keeps
// it from that.
func TestBreakerAndBudgetBoundTheAmplification(t *testing.T) {
	const agents, actions = 20, 20
	f := Fleet{Agents: agents, Actions: actions, Pause: 100 * ms, Service: outage(0, time.Hour)}
	play := func(c forecaster, shared bool) *Load {
		f.Adapter, f.Shared = forecasterAdapter(c), shared
		return Play(t, f)
	}
	require.Equal(t, 5.0, play(forecaster{}, false).Amplification())

	own := play(forecaster{breaker: true}, false)
	require.Equal(t, agents, own.Attempts, "each process finds out for itself")
	require.Equal(t, 0.05, own.Amplification())
	require.Equal(t, agents*actions, own.Ends[trace.ReasonBreakerOpen])

	shared := play(forecaster{breaker: true}, true)
	require.Less(t, shared.Attempts, agents, "one process finds out for all")

	budget := play(forecaster{budget: 440}, true)
	require.Equal(t, 1.1, budget.Amplification())
	require.NotZero(t, budget.Ends[trace.ReasonBudget])
}

// The agents of a fleet are judged each by itself; the message shows the first that
// breaks its policy.
func TestAFleetIsJudged(t *testing.T) {
	a := loopAdapter(loop{attempts: 4})
	load, err := Simulate(t, Fleet{Adapter: a, Agents: 30, Arrive: Evenly(30 * time.Second), Service: Service{Workers: 5, Serve: 20 * ms, Outages: []Outage{{From: 10 * time.Second, To: 20 * time.Second, Class: trace.Transient}}}})
	require.NoError(t, err)
	require.Len(t, load.Broken, 10)
	require.Equal(t, 11, load.Broken[0].Agent)
	golden(t, "fleet-judged", load.report())

	f := Fleet{Adapter: a, Agents: 1, Service: Service{Outages: []Outage{{To: time.Minute, Class: trace.Transient}}}}
	load, err = Simulate(t, f)
	require.NoError(t, err)
	golden(t, "fleet-judged-alone", load.report())
}

// Jitter that every process seeds with the same constant spreads nothing, which no
// process alone shows.
func TestProcessesOfOneSeedAreFound(t *testing.T) {
	constant := func() func() float64 { return rand.New(rand.NewPCG(1, 2)).Float64 }
	a := forecasterAdapter(forecaster{random: constant})
	a.Spreads = true
	f := Fleet{Adapter: a, Agents: 20, Service: outage(0, time.Minute)}
	load, err := Simulate(t, f)
	require.NoError(t, err)
	require.Len(t, load.Broken, 1)
	require.Equal(t, 0, load.Broken[0].Agent)
	require.Equal(t, []string{"jitter-spreads"}, names(load.Broken[0].Findings))
	require.Contains(t, load.report(), "the agents together:\njitter-spreads: ")
	require.Greater(t, load.Synchrony(10*ms), 5.0)

	f.Adapter = forecasterAdapter(forecaster{})
	f.Adapter.Spreads = true
	require.Empty(t, Play(t, f).Broken)
}

// Calls and waits without a context are of the agent that makes them.
func TestAFleetWithoutContexts(t *testing.T) {
	a := subjectAdapter(func(_ context.Context, s *Stage, tool trace.Func[string, int]) (any, error) {
		out, err := tool(context.Background(), "Pune")
		for n := 1; n < 3 && err != nil; n++ {
			_ = s.Sleeper()(context.Background(), 100*ms<<(n-1))
			out, err = tool(context.Background(), "Pune")
		}
		return out, err
	})
	a.Policy.Retry = []trace.Class{trace.Transient}
	for _, e := range Play(t, Fleet{Adapter: a, Agents: 20, Service: outage(0, 150*ms)}).Trace.Events {
		require.False(t, e.Ambiguous, "%v at %v", e.Kind, e.At)
	}
	load := Play(t, Fleet{Adapter: forecasterAdapter(forecaster{lost: true}), Agents: 50, Service: outage(0, 150*ms)})
	require.Empty(t, load.Trace.Ambiguous())
	require.Equal(t, 50, load.Ends[trace.ReasonSuccess]+load.Ends[trace.ReasonExhausted])
	require.NotZero(t, load.Retries)
}

// Plans have a deadline and faults for every action, on top of what the service does.
func TestPlanOfAFleet(t *testing.T) {
	load := Play(t, Fleet{
		Adapter: homeAdapter(), Agents: 20,
		Plan:    Plan{Faults: map[string][]Fault{Main: {Fail(trace.Transient), {Latency: time.Second}}}},
		Service: Service{Workers: 20, Serve: 10 * ms},
	})
	require.Equal(t, 2.0, load.Amplification())
	require.Equal(t, 40, load.Service.Answered)
	require.InDelta(t, 1120*ms, load.Took, float64(ms))
}

// HTTP clients queue like functions do.
func TestAFleetOfHTTPClients(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		client := s.Client(Route{Tool: "weather", Method: "GET", Answer: scripted.JSON(200, 19)})
		l := loop{attempts: 3, tool: func(ctx context.Context, city string) (int, error) {
			req, err := http.NewRequestWithContext(ctx, "GET", "http://weather.test/"+city, nil)
			if err != nil {
				return 0, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return 0, errors.New(resp.Status)
			}
			return 19, nil
		}}
		return func(ctx context.Context) (any, error) { return l.run(ctx, "Pune") }
	}
	load := Play(t, Fleet{Adapter: a, Agents: 20, Service: Service{Workers: 2, Serve: 10 * ms, Queue: 5}})
	require.Equal(t, 20, load.Ends[trace.ReasonSuccess]+load.Ends[trace.ReasonExhausted])
	require.NotZero(t, min(load.Service.Refused, load.Service.Answered))
}

func TestLoadInWords(t *testing.T) {
	load := Play(t, Fleet{Adapter: forecasterAdapter(forecaster{}), Agents: 300, Arrive: Evenly(3 * time.Second), Service: outage(time.Second, 2*time.Second)})
	golden(t, "fleet-load", load.String())
}

// What cannot be played is one clear error.
func TestFleetsThatCannotBePlayed(t *testing.T) {
	var b strings.Builder
	home, crash := homeAdapter(), Plan{Faults: map[string][]Fault{Main: {{Crash: 1}}}}
	for _, f := range []Fleet{
		{Adapter: home},
		{Agents: 10},
		{Adapter: home, Agents: 200_000},
		{Adapter: home, Agents: 2000, Actions: 2000},
		{Adapter: home, Agents: 1, Actions: -1, Pause: -1},
		{Adapter: home, Agents: 1, Pause: time.Second},
		{Adapter: home, Agents: 1, Plan: Plan{After: time.Second, Again: true}},
		{Adapter: home, Agents: 1, Plan: crash},
		{Adapter: home, Agents: 1, Plan: Plan{Faults: map[string][]Fault{"wether": {Fail(trace.Transient)}}}},
		{Adapter: home, Agents: 1, Plan: Plan{Faults: map[string][]Fault{Main: {Fail(trace.Conflict)}}}},
		{Adapter: home, Agents: 3, Arrive: func(int, *rand.Rand) []time.Duration { return []time.Duration{0, 1} }},
		{Adapter: home, Agents: 2, Arrive: func(int, *rand.Rand) []time.Duration { return []time.Duration{0, -1} }},
		{Adapter: home, Agents: 2, Arrive: func(int, *rand.Rand) []time.Duration { return []time.Duration{time.Second, 0} }},
		{Adapter: home, Agents: 1, Service: Service{Tool: "wether"}},
		{Adapter: home, Agents: 1, Service: Service{Workers: -1, Serve: -1, Queue: -2}},
		{Adapter: home, Agents: 1, Service: Service{Queue: 10}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 10}},
		{Adapter: home, Agents: 1, Service: Service{Hint: time.Second}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 1, Drawn: Exponential(-1)}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 1, Drawn: Exponential(1), Times: func(*rand.Rand, int) time.Duration { return 1 }}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 1, Serve: 1, Full: trace.OK}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 1, Serve: 1, Full: trace.Conflict}},
		{Adapter: home, Agents: 1, Service: Service{Workers: 1, Serve: 1, Hint: time.Second}},
		{Adapter: home, Agents: 1, Service: Service{Quota: Quota{N: 1}}},
		{Adapter: home, Agents: 1, Service: Service{Quota: Quota{N: 1, Per: time.Second}}},
		{Adapter: home, Agents: 1, Service: Service{Quota: Quota{Tool: "wether", N: 1, Per: time.Second}}},
		{Adapter: home, Agents: 1, Service: Service{Outages: []Outage{{From: time.Second, Class: trace.Transient}}}},
		{Adapter: home, Agents: 1, Service: Service{Outages: []Outage{{Tool: "wether", To: time.Second, Class: trace.Transient}}}},
		{Adapter: panicking(), Agents: 3},
	} {
		load, err := Simulate(t, f)
		require.Nil(t, load)
		require.Error(t, err)
		text, _, _ := strings.Cut(err.Error(), "\ngoroutine")
		b.WriteString(text + "\n\n")
	}
	golden(t, "fleet-errors", b.String())
}

// panicking is code whose second process cannot be built.
func panicking() Adapter {
	a, n := homeAdapter(), 0
	build := a.Subject
	a.Subject = func(s *Stage) Action {
		if n++; n == 2 {
			panic("no address")
		}
		return build(s)
	}
	return a
}

// Of ten thousand events those are shown that matter, and how many are not.
func TestALongReportOfAFleetIsCutDown(t *testing.T) {
	var lines []string
	for i := range 1000 {
		mark := "  "
		if i == 500 {
			mark = "> "
		}
		lines = append(lines, fmt.Sprintf("%sline %d", mark, i))
	}
	text := shortened(strings.Join(lines, "\n"))
	require.Contains(t, text, "  line 22\n  … 474 lines left out\n  line 497\n  line 498\n  line 499\n> line 500\n  line 501")
	require.True(t, strings.HasSuffix(text, "  line 503\n  … 496 lines left out"), text)

	for i := range lines {
		lines[i] = "> line"
	}
	require.Equal(t, strings.Join(lines[:100], "\n"), shortened(strings.Join(lines[:100], "\n")), "a short one is left alone")
	require.Less(t, strings.Count(shortened(strings.Join(lines, "\n")), "\n"), 2*mostLines, "and if all of it is marked, the begin is shown")
}
