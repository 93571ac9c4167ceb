package zoo

import (
	"context"
	"errors"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that reach their tool over a session, which can be lost.
func links() []Specimen {
	return []Specimen{
		{"lost-session-kept", "The call is made again after its session was lost, over the same session.",
			"F028", "new-session-used", linked(func(l *linker) { l.keeps = true })},
		{"lost-session-left-for-the-next", "An order whose session was lost ends as it should, and the session stays for the next order.",
			"F028", "new-session-used", ordering(func(l *linker) { l.leaves = true })},
		{"order-replayed-over-a-new-session", "The session is opened again, and the order that was under way is sent once more without asking whether it was placed.",
			"F028", "one-effect", ordering(func(l *linker) { l.replays = true })},
		{"dials-without-a-pause", "The server is down, and opening the session is tried ten times in a row.",
			"F028", "dials-bounded", linked(func(l *linker) { l.dials = 10 })},
		{"session-closed-for-all", "Whatever fails, the session is closed and opened again, and with it go the calls that others have under way.",
			"F028", "session-left-alone", linked(func(l *linker) { l.nervous = true })},
	}
}

var (
	errRefused = errors.New("connection refused")
	errLost    = errors.New("connection reset by peer")
)

// A link is a session with the tool.
type link struct {
	ask   tool
	close func()
}

// linkPolicy is the contract of a read over a session.
func linkPolicy() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.ID, p.Retry = "weather-link/v1", append(p.Retry, trace.NotConnected, trace.Reset)
	})
}

// orderPolicy is that of a write without a key: what was never sent may be sent
// again, and what was lost under way may not.
func orderPolicy() invariants.Policy {
	p := linkPolicy()
	p.ID, p.Repeatable, p.Retry = "orders/v1", false, []trace.Class{trace.Throttled, trace.NotConnected}
	return p
}

// A linker asks over one session that all actions share.
type linker struct {
	dial func(context.Context) (*link, error)
	held chan *link // holds the session, or nil where there is none; empty while somebody opens one
	safe bool       // what was lost under way may be sent again

	// Habits.
	tidy    bool // a session that is lost is closed
	alone   bool // each action has a session of its own
	keeps   bool // a session stays when it is lost
	leaves  bool // one that is lost under way stays, since the action ends anyhow
	replays bool // what was lost is sent again in any case
	nervous bool // any failure closes the session
	dials   int  // that are tried in a row; 0: 1
}

func linked(change func(*linker)) faultsim.Adapter { return linking(linkPolicy(), change) }

func ordering(change func(*linker)) faultsim.Adapter { return linking(orderPolicy(), change) }

func linking(p invariants.Policy, change func(*linker)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Session: &invariants.Session{},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			errs := throttling()
			errs[trace.NotConnected], errs[trace.Reset] = errRefused, errLost
			weather, sessions := faultsim.Tool(s, "weather", sunny, errs), s.Sessions("weather")
			l := newLinker(func(ctx context.Context) (*link, error) {
				c, err := sessions.Dial(ctx)
				if err != nil {
					return nil, err
				}
				return &link{func(ctx context.Context, q query) (forecast, error) { return weather(c.Over(ctx), q) }, c.Close}, nil
			})
			l.safe = p.Repeatable
			change(l)
			return func(ctx context.Context) (any, error) {
				if l.alone {
					own := *l
					own.held = newLinker(nil).held
					return own.forecast(ctx)
				}
				return l.forecast(ctx)
			}
		},
	}
}

func newLinker(dial func(context.Context) (*link, error)) *linker {
	l := &linker{dial: dial, held: make(chan *link, 1)}
	l.held <- nil
	return l
}

// open is the session that is held, or a new one.
func (l *linker) open(ctx context.Context) (*link, error) {
	var c *link
	select {
	case c = <-l.held:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var err error
	for n := 0; c == nil && n < max(l.dials, 1) && ctx.Err() == nil; n++ {
		c, err = l.dial(ctx)
	}
	l.held <- c
	if c == nil && err == nil {
		err = ctx.Err()
	}
	return c, err
}

// drop lets go of a session, unless another one has taken its place.
func (l *linker) drop(c *link, shut bool) {
	held := <-l.held
	if held == c {
		held = nil
	}
	l.held <- held
	if shut {
		c.close()
	}
}

func lost(err error) bool { return errors.Is(err, errRefused) || errors.Is(err, errLost) }

// after is what is done about the session of a call that failed.
func (l *linker) after(c *link, err error) {
	switch {
	case l.nervous:
		l.drop(c, true)
	case l.keeps, l.leaves && errors.Is(err, errLost):
	case lost(err):
		l.drop(c, l.tidy)
	}
}

// again reports whether the call may be made again.
func (l *linker) again(err error) bool {
	if errors.Is(err, errLost) {
		return l.safe || l.replays
	}
	_, busy := errors.AsType[*busyError](err)
	return busy || errors.Is(err, errRefused) || l.safe && retryable(err)
}

// try is one attempt, over a session that is opened where there is none.
func (l *linker) try(ctx context.Context) (forecast, error) {
	c, err := l.open(ctx)
	if err != nil {
		return forecast{}, err
	}
	f, err := once(ctx, c.ask, pune)
	if err != nil {
		l.after(c, err)
	}
	return f, err
}

func (l *linker) forecast(ctx context.Context) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := l.try(ctx)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil || !l.again(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
