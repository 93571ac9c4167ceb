package faultsim_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const report = `{"city":"Pune","celsius":19}`

// streaming plugs in an action over one route whose answers come in pieces.
func streaming(answer http.Handler, action func(context.Context, *http.Client) (any, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "report",
		Policy: invariants.Policy{
			ID: "report/v1", MaxAttempts: 3, Attempt: time.Second, Repeatable: true,
			Retry: []trace.Class{trace.Timeout, trace.Reset, trace.NotConnected}, Backoff: invariants.Backoff{Base: 100 * time.Millisecond}, Late: invariants.LateWait,
		},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := s.Client(faultsim.Route{Tool: "report", Answer: answer, Streams: true})
			return func(ctx context.Context) (any, error) { return action(ctx, client) }
		},
	}
}

func saying(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

// read is one attempt that reads the whole body within a time, and says when
// each piece came.
func read(ctx context.Context, client *http.Client, limit time.Duration) (body string, at []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test/report", nil)
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	buf := make([]byte, 64)
	for {
		n, err := resp.Body.Read(buf)
		body += string(buf[:n])
		at = append(at, time.Since(begin))
		if err == io.EOF {
			return body, at, nil
		}
		if err != nil {
			return body, at, err
		}
	}
}

// What a body in pieces looks like to its reader.
func TestBodyComesInPieces(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		fault faultsim.Fault
		body  string
		at    []time.Duration
		err   error
		class trace.Class
	}{
		{"whole", faultsim.Fault{Latency: 100 * ms, Body: 400 * ms}, report, []time.Duration{200 * ms, 300 * ms, 400 * ms, 500 * ms}, nil, trace.OK},
		{"too slow", faultsim.Fault{Body: 1600 * ms}, report[:14], []time.Duration{400 * ms, 800 * ms, 1000 * ms}, context.DeadlineExceeded, trace.Timeout},
		{"breaks", faultsim.Fault{Class: trace.Reset, Body: 400 * ms}, report[:14], []time.Duration{100 * ms, 200 * ms, 300 * ms, 400 * ms, 400 * ms}, io.ErrUnexpectedEOF, trace.Reset},
		{"stops", faultsim.Fault{Hang: true, Body: 400 * ms}, report[:14], []time.Duration{100 * ms, 200 * ms, 300 * ms, 400 * ms, 1000 * ms}, context.DeadlineExceeded, trace.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body string
			var at []time.Duration
			var err error
			r := faultsim.Trial(t, streaming(saying(report), func(ctx context.Context, client *http.Client) (any, error) {
				body, at, err = read(ctx, client, time.Second)
				return nil, err
			}), faultsim.One(c.fault))
			require.NoError(t, r.Err)
			require.Equal(t, c.body, body)
			require.Equal(t, c.at, at)
			require.ErrorIs(t, err, c.err)
			a := r.Trace.Actions()[0]
			first := a.Series[0].Attempts[0]
			require.Equal(t, c.class, first.Outcome.Class)
			require.Equal(t, at[len(at)-1], first.End-a.Begin)
		})
	}
}

// An answer without a body breaks before its status.
func TestAnswerWithoutABodyBreaksBeforeItsStatus(t *testing.T) {
	for _, f := range []faultsim.Fault{{Class: trace.Reset, Body: time.Millisecond}, {Hang: true, Body: time.Millisecond}} {
		r := faultsim.Trial(t, streaming(saying(""), func(ctx context.Context, client *http.Client) (any, error) {
			_, _, err := read(ctx, client, time.Second)
			return nil, err
		}), faultsim.One(f))
		require.NoError(t, r.Err)
		require.NotEqual(t, trace.OK, r.Trace.Actions()[0].Series[0].Attempts[0].Outcome.Class)
	}
}

// A close ends a read that waits for the next piece, as it does over a network.
func TestCloseEndsAReadOfABodyInPieces(t *testing.T) {
	var read error
	r := faultsim.Trial(t, streaming(saying(report), func(ctx context.Context, client *http.Client) (any, error) {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test/report", nil)
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		time.AfterFunc(time.Millisecond, func() { resp.Body.Close() })
		_, read = io.ReadAll(resp.Body)
		return nil, read
	}), faultsim.One(faultsim.Fault{Body: time.Second}))
	require.NoError(t, r.Err)
	require.ErrorIs(t, read, http.ErrBodyReadAfterClose)
}

// reporter asks for the report, three times at most.
func reporter(once func(context.Context, *http.Client) (any, error)) func(context.Context, *http.Client) (any, error) {
	return func(ctx context.Context, client *http.Client) (any, error) {
		wait := 100 * time.Millisecond
		for n := 1; ; n++ {
			out, err := once(ctx, client)
			if err == nil || n == 3 || ctx.Err() != nil || errors.Is(err, errRefused) {
				return out, err
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			wait *= 2
		}
	}
}

var errRefused = errors.New("refused, or no report")

func whole(ctx context.Context, client *http.Client) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test/report", nil)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errRefused
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, errRefused
	}
	return json.RawMessage(body), nil
}

// A loop that reads the body within its attempt passes every fault of it.
func TestBodyReadWithinTheAttemptIsRight(t *testing.T) {
	faultsim.Check(t, streaming(saying(report), reporter(whole)))
}

// Bodies in pieces are drawn where a route has them, and only there.
func TestBodiesAreDrawnForStreamsOnly(t *testing.T) {
	kinds := map[string]int{}
	gen := faultsim.Schedules(t, streaming(saying(report), reporter(whole)))
	for seed := range 500 {
		for _, p := range gen.Example(seed).Actions {
			for _, f := range p.Faults["report"] {
				switch {
				case f.Body == 0:
					kinds["none"]++
				case f.Hang:
					kinds["stops"]++
				case f.Class == trace.Reset:
					kinds["breaks"]++
				default:
					kinds["slow"]++
				}
			}
		}
	}
	for _, k := range []string{"none", "stops", "breaks", "slow"} {
		require.Greater(t, kinds[k], 20, k)
	}
}

func TestBodyInPiecesIsHeldToItsRoute(t *testing.T) {
	for text, want := range map[string]string{
		"report 1 forbidden body=1s":  "line 3: body= is about the answer of a success",
		"report 1 reset hang body=1s": "line 3: body= is about the answer of a success",
		"report 1 ok body=":           "line 3: body= has no value",
	} {
		_, err := faultsim.Parse("rehearse schedule 1\naction\n  " + text + "\n")
		require.ErrorContains(t, err, want, text)
	}
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  report 1 reset body=1s\n  report 2 hang body=2s\n  report 3 ok body=3s\n")
	require.NoError(t, err)
	require.Equal(t, []faultsim.Fault{{Class: trace.Reset, Body: time.Second}, {Hang: true, Body: 2 * time.Second}, {Body: 3 * time.Second}}, s.Actions[0].Faults["report"])
	again, err := faultsim.Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, again)

	plain := streaming(saying(report), reporter(whole))
	plain.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "report"})
		return func(ctx context.Context) (any, error) { return whole(ctx, client) }
	}
	require.ErrorContains(t, faultsim.Trial(t, plain, s).Err, `report cannot answer as attempt 1 plans: reset body=1s`)
	given := faultsim.One(faultsim.Fault{Class: trace.Transient, Body: time.Second})
	require.ErrorContains(t, faultsim.Trial(t, streaming(nil, whole), given).Err, "report cannot answer as attempt 1 plans: transient body=1s", "only a model gives up within its answer")
	bad := faultsim.One(faultsim.Fault{Class: trace.Forbidden, Body: time.Second})
	require.ErrorContains(t, faultsim.Trial(t, streaming(nil, whole), bad).Err, "attempt 1: Body is about the answer of a success")
}
