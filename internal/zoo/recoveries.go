package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that an outage outlives: the service is up again, and they are not.
func recoveries() []Specimen {
	return []Specimen{
		{"breaker-never-probes", "The cooldown is set and never looked at: the breaker that an outage has opened stays open until somebody restarts the process.",
			"F053", "circuit-breaker", guarded(inARow(), func(g *guard) { g.calm = year })},
		{"breaker-opened-by-its-own-probe", "Whatever comes of a probe begins the cooldown anew, its success as well.",
			"F053", "circuit-breaker", guarded(inARow(), func(g *guard) { g.ungrateful = true })},
		{"fallback-for-good", "The almanac stood in for the weather once, and is asked ever since, because it worked.",
			threeLayer, "recovers", standingIn(false)},
		{"paused-by-the-first-outage", "An outage pauses the agent until somebody looks at it, and nobody is told to.",
			threeLayer, "recovers", pausing(year)},
		{"pause-begun-anew-by-each-look", "Who asks during the pause begins it anew, and a busy agent stays paused.",
			threeLayer, "recovers", promising(pause, pausing(pause, func(p *pauser) { p.extends = true }))},
		{"worker-ends-with-its-job", "The worker returns with the error of the job that an outage has failed, and nobody takes up the next one.",
			handling, "returns", queueing(true)},
		{"place-lost-with-each-failure", "The place at the limiter is given back on the way of the success only.",
			"F080", "returns", placing(losesOnFailure)},
	}
}

// rightRecoveries remember an outage for as long as they say.
func rightRecoveries() []Specimen {
	return []Specimen{
		{Name: "fallback-left-again", Adapter: standingIn(true)},
		{Name: "paused-for-a-while", Adapter: promising(pause, pausing(pause))},
		{Name: "worker-takes-the-next-job", Adapter: queueing(false)},
	}
}

const (
	pause = 30 * time.Second
	year  = 365 * 24 * time.Hour
)

// promising is the adapter with a time for the recovery.
func promising(within time.Duration, a faultsim.Adapter) faultsim.Adapter {
	a.RecoversWithin = 2 * within // an action that began before the calm may begin the pause late
	return a
}

var errPaused = errors.New("weather: paused after an outage")

// A pauser asks nothing for a while once an action has failed.
type pauser struct {
	mu      sync.Mutex
	until   time.Time
	lasts   time.Duration
	extends bool
}

func (p *pauser) forecast(ctx context.Context, call tool) (forecast, error) {
	if p.paused() {
		return forecast{}, errPaused
	}
	f, err := patient(ctx, call)
	if err != nil && ctx.Err() == nil && retryable(err) {
		p.begin()
	}
	return f, err
}

func (p *pauser) paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	on := time.Now().Before(p.until)
	if on && p.extends {
		p.until = time.Now().Add(p.lasts)
	}
	return on
}

func (p *pauser) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(p.lasts)
}

// pausing hands the turn to a person while it is paused.
func pausing(lasts time.Duration, change ...func(*pauser)) faultsim.Adapter {
	a := built(policy(), failures(), func(*faultsim.Stage) ask {
		p := &pauser{lasts: lasts}
		for _, c := range change {
			c(p)
		}
		return p.forecast
	})
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, errPaused) {
			return trace.ReasonEscalated
		}
		return 0
	}
	return a
}

// standingIn asks the almanac while the breaker refuses.
func standingIn(returns bool) faultsim.Adapter {
	a := fallsBack()
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		g := newGuard()
		weather := faultsim.Tool(s, "weather", sunny, failures())
		almanac := faultsim.Tool(s, "almanac", sunny, nil)
		var mu sync.Mutex
		stays := false
		return func(ctx context.Context) (any, error) {
			mu.Lock()
			there := stays
			mu.Unlock()
			if there {
				return patient(ctx, almanac)
			}
			f, err := g.forecast(ctx, weather)
			if err != errOpen {
				return f, err
			}
			mu.Lock()
			stays = !returns
			mu.Unlock()
			return patient(ctx, almanac)
		}
	}
	return a
}

// A queued job waits for the worker.
type queued struct {
	ctx  context.Context
	done chan error
	f    forecast
}

// queueing has one worker for all actions, which works off one job after the other.
func queueing(dies bool) faultsim.Adapter {
	return built(policy(), failures(), func(s *faultsim.Stage) ask {
		jobs, closed := make(chan *queued), make(chan struct{})
		var started sync.Once
		var ended sync.WaitGroup
		s.Close(func() { close(closed); ended.Wait() })
		return func(ctx context.Context, call tool) (forecast, error) {
			started.Do(func() { ended.Go(func() { works(call, jobs, closed, dies) }) })
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			j := &queued{ctx: ctx, done: make(chan error, 1)}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return forecast{}, ctx.Err()
			}
			err := <-j.done
			return j.f, err
		}
	})
}

// works is the worker.
func works(call tool, jobs <-chan *queued, closed <-chan struct{}, dies bool) {
	for {
		select {
		case j := <-jobs:
			f, err := patient(j.ctx, call)
			j.f = f
			j.done <- err
			if err != nil && dies {
				return
			}
		case <-closed:
			return
		}
	}
}

// losesOnFailure gives the place back where all is well.
func losesOnFailure() gate {
	_, g := onePlace()
	back := g.leave
	g.leave = func(err error) {
		if err == nil {
			back(nil)
		}
	}
	return g
}
