package zoo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A report is written from a forecast, kept in an archive and sent by mail.
type (
	filing struct {
		Forecast forecast
		Key      string
	}
	message struct{ To, Text string }
	sent    struct{ ID string }
)

var (
	errArchiveBusy = errors.New("archive: busy, nothing was stored")
	errArchiveFull = errors.New("archive: no space")
	errMailLost    = errors.New("mail: connection reset")
	errMailbox     = errors.New("mail: no such mailbox")
)

func toolPolicies() []Specimen {
	return []Specimen{
		{"mail-tried-like-the-rest", "One wrapper with three attempts goes around every tool, and the mail is sent again.",
			toolErrors, "attempts-bounded", reporter(tools3{mail: 3, archive: 5})},
		{"archive-given-up-early", "The number of the weather tool is used for the archive, which may have five.",
			toolErrors, "conforms", reporter(tools3{mail: 1, archive: 3})},
		{"archive-waits-like-the-weather", "The waits of the weather tool are used for the archive, which asks for longer ones.",
			toolErrors, "waits-in-window", reporter(tools3{mail: 1, archive: 5, hasty: true})},
	}
}

// reports is the contract of an agent with three tools: three attempts for a read,
// five for a write that has a key, one for a mail.
func reports() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.ID = "report/v1"
		p.Tools = map[string]invariants.Policy{
			"archive": {
				ID: "archive/v2", MaxAttempts: 5, Attempt: limit, Key: "Key", Late: invariants.LateWait,
				Retry:   []trace.Class{trace.Transient, trace.Timeout},
				Backoff: invariants.Backoff{Base: time.Second, Factor: 1},
			},
			"mail": {ID: "mail/v1", MaxAttempts: 1, Attempt: limit, Late: invariants.LateWait},
		}
	})
}

// reporter plugs in the agent, with as many attempts for its tools.
func reporter(set tools3) faultsim.Adapter {
	a := agents(reports(), failures(), nil)
	a.Name = "report"
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		var keys atomic.Int64
		weather := faultsim.Tool(s, "weather", sunny, failures())
		archive := faultsim.Tool(s, "archive", func(context.Context, filing) (sent, error) { return sent{"a-1"}, nil },
			faultsim.Errors{trace.Transient: errArchiveBusy, trace.Forbidden: errArchiveFull})
		mail := faultsim.Tool(s, "mail", func(context.Context, message) (sent, error) { return sent{"m-1"}, nil },
			faultsim.Errors{trace.Reset: errMailLost, trace.Invalid: errMailbox})
		return func(ctx context.Context) (any, error) {
			f, err := patient(ctx, weather)
			if err != nil {
				return nil, err
			}
			e := filing{f, fmt.Sprint("report-", keys.Add(1))}
			if _, err := trying(ctx, set.archive, set.pause(), func(ctx context.Context) (sent, error) { return archive(ctx, e) }); err != nil {
				return nil, err
			}
			return trying(ctx, set.mail, base, func(ctx context.Context) (sent, error) {
				return mail(ctx, message{"ann@example.com", f.Note})
			})
		}
	}
	return a
}

// tools3 says how often the tools are tried.
type tools3 struct {
	mail, archive int
	hasty         bool
}

func (t tools3) pause() time.Duration {
	if t.hasty {
		return base
	}
	return time.Second
}

// trying is a right loop with a constant wait, around any tool.
func trying(ctx context.Context, most int, wait time.Duration, do func(context.Context) (sent, error)) (sent, error) {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return sent{}, err
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		out, err := do(limited)
		cancel()
		if err == nil {
			return out, nil
		}
		passing := errors.Is(err, errArchiveBusy) || errors.Is(err, errMailLost) || errors.Is(err, context.DeadlineExceeded)
		if n == most || ctx.Err() != nil || !passing {
			return sent{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return sent{}, err
		}
	}
}
