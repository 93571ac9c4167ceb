package matrix_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

var errUnaudited = errors.New("done and not on record")

// recording is the right loop that writes a log and an audit behind its work,
// each under a limit of its own unless it hangs on them.
func recording(p invariants.Policy, hangs bool, sinks ...invariants.Sink) faultsim.Adapter {
	a := loop(p)
	a.Sinks = sinks
	plain := a.Subject
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		action := plain(s)
		writers := map[bool]func(context.Context, string) error{}
		for _, k := range sinks {
			writers[k.Mandatory] = faultsim.Sink[string](s, k.Name)
		}
		return func(ctx context.Context) (any, error) {
			out, err := action(ctx)
			if err != nil {
				return out, err
			}
			for mandatory, write := range writers {
				if err := entered(ctx, write, hangs); err != nil && mandatory {
					return nil, errUnaudited
				}
			}
			return out, nil
		}
	}
	return a
}

func entered(ctx context.Context, write func(context.Context, string) error, hangs bool) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the sink panicked")
		}
	}()
	limit := time.Second
	if hangs {
		limit = time.Hour
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return write(ctx, "done")
}

func recordRows(t *testing.T, a faultsim.Adapter) map[string]matrix.Played {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	rows := map[string]matrix.Played{}
	for _, p := range played {
		if p.Row.Group == matrix.Records {
			require.NotEmpty(t, p.Row.Proves)
			rows[p.Row.Name] = p
		}
	}
	return rows
}

func TestRowsOfRecordsAreForAdaptersWithSinks(t *testing.T) {
	log := invariants.Sink{Name: "log", Wait: time.Second}
	audit := invariants.Sink{Name: "audit", Mandatory: true, Wait: time.Second}
	require.Empty(t, recordRows(t, loop(read)))
	rows := recordRows(t, recording(read, false, log))
	require.Len(t, rows, 5)
	require.ErrorContains(t, rows["audit-fails"].Skipped, "none of the adapter's sinks is mandatory")
	require.ErrorContains(t, recordRows(t, recording(read, false, audit))["log-fails"].Skipped, "all of the adapter's sinks are mandatory")
	for _, p := range []invariants.Policy{read, keyed, bare} {
		for name, row := range recordRows(t, recording(p, false, log, audit)) {
			require.NoError(t, row.Skipped, name)
			require.Empty(t, row.Complaint, name)
		}
	}
	for _, name := range []string{"log-hangs", "audit-hangs"} {
		require.Equal(t, "breaks observer-neutral", recordRows(t, recording(read, true, log, audit))[name].Complaint, name)
	}
}
