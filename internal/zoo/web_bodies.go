package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that go by the status where the body decides, or by a header that
// cannot be read, or mix the bodies of two attempts.
func webBodies() []Specimen {
	return []Specimen{
		{"http-quota-waited-for", "The status of throttling is enough for a retry, and the body says that the quota of the month is used up.",
			"F017", "no-retry-after-refusal", onRoute(webPolicy(), metered(), func(*webAgent) {})},
		{"http-junk-hint-is-now", "A Retry-After that cannot be read counts as nought seconds, and replaces the own wait.",
			"F010", "waits-in-window", onRoute(webPolicy(), mumbling(), func(a *webAgent) { a.pause = obeysHeader })},
		{"http-answers-joined", "The buffer outlives the attempt, and the whole answer is put behind the broken one.",
			"F078", "honest-ending", rereading(func() func(io.Reader, *forecast) error { return new(bytesOfAll).decode })},
	}
}

// metered is a route with a quota, which has the status of throttling.
func metered() faultsim.Route {
	r := route(http.MethodGet)
	r.Failures = map[trace.Class]http.Handler{
		trace.QuotaExhausted: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"code":"insufficient_quota","resets":"2026-04-01"}}`)
		}),
	}
	return r
}

// readsQuota tells a used-up quota from throttling.
func readsQuota(body []byte) bool { return bytes.Contains(body, []byte("insufficient_quota")) }

// mumbling is a route whose Retry-After is neither a number nor a date.
func mumbling() faultsim.Route {
	r := route(http.MethodGet)
	r.Hints = []faultsim.HintForm{}
	r.Failures = map[trace.Class]http.Handler{
		trace.Throttled: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "soon")
			w.WriteHeader(http.StatusTooManyRequests)
		}),
	}
	return r
}

// obeysHeader waits as the header says, whatever it says.
func obeysHeader(own time.Duration, err error) time.Duration {
	if s, ok := errors.AsType[*statusError](err); ok && s.asks {
		return s.after
	}
	return own
}

// rereading plugs in an agent that asks once more where an answer is broken, with a
// decoder for each action.
func rereading(decoder func() func(io.Reader, *forecast) error) faultsim.Adapter {
	p := webPolicy()
	p.ID, p.MaxAttempts, p.Retry = "weather-once-more/v1", 2, append(p.Retry, trace.Malformed)
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := s.Client(route(http.MethodGet))
			return func(ctx context.Context) (any, error) {
				a := &webAgent{client: client, hint: readHint, retry: retryStatus, decode: decoder(), most: 2}
				return a.forecast(ctx)
			}
		},
	}
}

// bytesOfAll keeps what all attempts of an action have answered.
type bytesOfAll struct{ got bytes.Buffer }

func (b *bytesOfAll) decode(r io.Reader, f *forecast) error {
	if _, err := b.got.ReadFrom(r); err != nil {
		return err
	}
	return json.Unmarshal(b.got.Bytes(), f)
}

// decodeAlone reads the answer of this attempt and of no other.
func decodeAlone(r io.Reader, f *forecast) error { return json.NewDecoder(r).Decode(f) }

// onRoute plugs in an agent that asks the weather over one route.
func onRoute(p invariants.Policy, r faultsim.Route, change func(*webAgent)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			a := &webAgent{client: s.Client(r), hint: readHint, retry: retryStatus, decode: decode}
			change(a)
			return func(ctx context.Context) (any, error) { return a.forecast(ctx) }
		},
	}
}
