package zoo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that write records: to a log, which is best effort, or to an audit
// trail, which must be kept.
func sinks() []Specimen {
	return []Specimen{
		{"log-waits-for-a-slow-sink", "The log has a limit of ten seconds where a tenth of one was meant, and the action waits for it.",
			testingRetries, "observer-neutral", logging(func(l *logger) { l.limit = 10 * time.Second })},
		{"log-in-the-attempts-time", "The log is written in the context of the attempt, and the action waits for it as long as for a tool.",
			"F083", "observer-neutral", logging(func(l *logger) { l.limit = 0 })},
		{"log-panics-through", "The writer of the log panics, and takes the action with it.",
			"F083", "observer-neutral", logging(func(l *logger) { l.lets = true })},
		{"log-failure-counts-as-the-tools", "The log stands inside the attempt, and its failure makes a success a failure that is tried again.",
			"F083", "observer-neutral", logging(func(l *logger) { l.inside = true })},
		{"success-without-its-record", "The error of the audit is logged and forgotten, and the payment is told as made.",
			testingRetries, "audited", audited(auditAfter, func(a *auditor) { a.forgets = true })},
		{"audit-failure-repeats-the-write", "The audit times out after the work is done, and the timeout is read as the tool's.",
			"F083", "observer-neutral", audited(auditAfter, func(a *auditor) { a.inside = true })},
		{"audit-failure-told-as-exhausted", "The work is done, its record is not written, and the caller is told that all attempts failed.",
			"F083", "audited", audited(auditAfter, func(a *auditor) { a.blurs = true })},
		{"record-after-the-call", "The record that should come first is written when the answer is there.",
			testingRetries, "audited", audited(auditBefore, func(a *auditor) { a.behind = true })},
	}
}

const logLimit = 100 * time.Millisecond // of one record

// A logger writes what becomes of each attempt to a log.
type logger struct {
	write func(context.Context, string) error
	limit time.Duration // of one record; 0: the caller's

	lets   bool // panics through
	inside bool // the log's error is the attempt's
	beside bool // another goroutine writes
}

func logging(change func(*logger)) faultsim.Adapter {
	wait := logLimit
	a := built(policy(), throttling(), func(s *faultsim.Stage) ask {
		l := &logger{write: faultsim.Sink[string](s, "log"), limit: logLimit}
		change(l)
		return l.forecast
	})
	if l := new(logger); true {
		if change(l); l.beside {
			wait = 0
		}
	}
	a.Sinks = []invariants.Sink{{Name: "log", Wait: wait}}
	return a
}

func (l *logger) forecast(ctx context.Context, call tool) (forecast, error) {
	return patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		f, err := call(ctx, q)
		if failed := l.log(ctx, fmt.Sprintf("%s: %v", q.City, err)); failed != nil && l.inside && err == nil {
			return forecast{}, fmt.Errorf("log: %w", failed)
		}
		return f, err
	})
}

func (l *logger) log(ctx context.Context, line string) (err error) {
	if l.beside {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logLimit)
			defer cancel()
			_ = l.write(ctx, line)
		}()
		return nil
	}
	if !l.lets {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the log panicked: %v", p)
			}
		}()
	}
	if l.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.limit)
		defer cancel()
	}
	return l.write(ctx, line)
}

// An auditor keeps a record of each forecast.
type auditor struct {
	keep func(context.Context, string) error

	degrades bool // a success says that its record is missing
	forgets  bool // the failure of the record is forgotten
	inside   bool // the record is written inside the attempt
	blurs    bool // the failure is worded like one of the tool's
	behind   bool // writes when it has called
}

var (
	auditBefore = invariants.Sink{Name: "audit", Mandatory: true, Before: true, Wait: auditLimit}
	auditAfter  = invariants.Sink{Name: "audit", Mandatory: true, Wait: auditLimit}
)

const auditLimit = time.Second // of one record

var errUnrecorded = errors.New("it is done and not on record: do not do it again, tell the auditors")

func audited(k invariants.Sink, change func(*auditor)) faultsim.Adapter {
	a := built(policy(), throttling(), func(s *faultsim.Stage) ask {
		a := &auditor{keep: faultsim.Sink[string](s, "audit")}
		if change(a); k.Before {
			return a.records
		}
		return a.forecast
	})
	a.Sinks = []invariants.Sink{k}
	a.Reason = func(err error) trace.Reason {
		switch {
		case errors.Is(err, errUnrecorded):
			return trace.ReasonEscalated
		case errors.Is(err, errNoForecast):
			return trace.ReasonExhausted
		}
		return 0
	}
	return a
}

// write keeps one record, whatever becomes of the caller.
func (a *auditor) write(ctx context.Context, record string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the audit panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditLimit)
	defer cancel()
	return a.keep(ctx, record)
}

// records writes what is intended before it is done.
func (a *auditor) records(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	if a.behind {
		f, err := patient(ctx, call)
		_ = a.write(ctx, "intended to ask")
		return f, err
	}
	if err := a.write(ctx, "intends to ask"); err != nil {
		return forecast{}, fmt.Errorf("nothing was done, since it could not be recorded: %v", err)
	}
	return patient(ctx, call)
}

var errNoForecast = errors.New("no forecast, try again later")

// forecast records what was done.
func (a *auditor) forecast(ctx context.Context, call tool) (forecast, error) {
	if a.inside {
		return patient(ctx, func(ctx context.Context, q query) (forecast, error) {
			f, err := call(ctx, q)
			if err == nil {
				err = a.write(ctx, "asked")
			}
			return f, err
		})
	}
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, err
	}
	switch err := a.write(ctx, "asked"); {
	case err == nil, a.forgets:
		return f, nil
	case a.blurs:
		return forecast{}, fmt.Errorf("%w: %v", errNoForecast, err)
	case a.degrades:
		return f, nil // a real one would flag it in its result
	default:
		return forecast{}, fmt.Errorf("%w: %v", errUnrecorded, err)
	}
}

// degraded plugs in the auditor whose success may lack its record.
func degraded() faultsim.Adapter {
	k := auditAfter
	k.Degraded = true
	return audited(k, func(a *auditor) { a.degrades = true })
}

// loggedBreaker plugs in a breaker whose attempts are logged by another goroutine.
func loggedBreaker() faultsim.Adapter {
	a := guarded(inARow(), func(*guard) {})
	a.Sinks = []invariants.Sink{{Name: "log"}}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		g := newGuard()
		call := faultsim.Tool(s, "weather", sunny, failures())
		l := &logger{write: faultsim.Sink[string](s, "log"), beside: true}
		return func(ctx context.Context) (any, error) {
			return g.forecast(ctx, func(ctx context.Context, q query) (forecast, error) {
				f, err := call(ctx, q)
				_ = l.log(ctx, "asked")
				return f, err
			})
		}
	}
	return a
}
