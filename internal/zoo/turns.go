package zoo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// patience is how many actions in a row may fail.
const patience = 3

var errHandedOver = errors.New("forecast: too many failures, a person takes over")

func escalations() []Specimen {
	return []Specimen{
		{"turn-never-handed-on", "The failures of a turn are counted in a copy, and the model goes on for ever.",
			toolErrors, "escalates-after", turning(func(l *loopTurn) { l.forgets = true })},
		{"turn-handed-on-late", "The turn is handed on when more than three have failed, and a fourth call is made.",
			toolErrors, "escalates-after", turning(func(l *loopTurn) { l.late = true })},
		{"successes-do-not-count", "The failures of a turn are added up, whatever was answered between them.",
			toolErrors, "escalates-after", turning(func(l *loopTurn) { l.addsUp = true })},
	}
}

// turning plugs in an agent that hands its turn on after three failures in a row.
func turning(change func(*loopTurn)) faultsim.Adapter {
	a := built(policy(), failures(), func(*faultsim.Stage) ask {
		l := &loopTurn{}
		change(l)
		return l.forecast
	})
	a.EscalatesAfter = patience
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, errHandedOver) {
			return trace.ReasonEscalated
		}
		return 0
	}
	return a
}

// A loopTurn is what a model does between two messages of its user. Its last
// fields are the ways in which its failures are counted wrongly.
type loopTurn struct {
	mu     sync.Mutex
	failed int // in a row
	last   error

	tells bool // the failure that fills the row hands the turn on itself

	forgets, late, addsUp bool
}

func (l *loopTurn) forecast(ctx context.Context, call tool) (forecast, error) {
	if err := l.over(); err != nil {
		return forecast{}, err
	}
	f, err := patient(ctx, call)
	if l.count(ctx, err); err != nil && l.tells {
		return f, cmp.Or(l.over(), err)
	}
	return f, err
}

// over is the error that hands the turn on; nil: it goes on.
func (l *loopTurn) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed < patience || l.late && l.failed == patience {
		return nil
	}
	return fmt.Errorf("%w: %w", errHandedOver, l.last)
}

// count counts an action that failed, and not because its caller left.
func (l *loopTurn) count(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && !l.addsUp:
		l.failed = 0
	case err != nil && ctx.Err() == nil && !l.forgets:
		l.failed++
		l.last = err
	}
}
