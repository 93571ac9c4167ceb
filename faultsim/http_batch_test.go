package faultsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// mailing puts a batch of letters on the stage over HTTP. send gets a function
// that posts the ids and returns the status and the body.
func mailing(key string, b *RouteBatch, send func(post func(key string, ids ...string) (int, string)) error) Adapter {
	return Adapter{
		Name: "mail", Policy: invariants.Policy{
			ID: "mail/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}, Key: key, Repeatable: key == "",
		},
		Invariants: []invariants.Invariant{invariants.BatchRetry()},
		Subject: func(s *Stage) Action {
			client := s.Client(Route{Tool: "mail", Method: http.MethodPost, Batch: b, Hints: []HintForm{}})
			return func(ctx context.Context) (any, error) {
				return nil, send(func(key string, ids ...string) (int, string) {
					body, _ := json.Marshal(ids)
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://mail.test/letters", bytes.NewReader(body))
					req.Header.Set("Idempotency-Key", key)
					resp, err := client.Do(req)
					if err != nil {
						return 0, err.Error()
					}
					defer resp.Body.Close()
					text, _ := io.ReadAll(resp.Body)
					return resp.StatusCode, string(text)
				})
			}
		},
	}
}

var letters = &RouteBatch{
	Items: func(body []byte) (ids []string) { _ = json.Unmarshal(body, &ids); return ids },
	Answer: func(w http.ResponseWriter, items []ItemStatus) {
		w.WriteHeader(http.StatusMultiStatus)
		for _, it := range items {
			fmt.Fprintf(w, "%s=%d;", it.ID, it.Status)
		}
	},
}

// A request over HTTP fails in its items, which the body tells; as a whole, with
// a status of its own; and the trace has it all.
func TestABatchOverHTTPAnswersForEachItem(t *testing.T) {
	r := Trial(t, mailing("", letters, func(post func(string, ...string) (int, string)) error {
		status, body := post("", "a", "b", "c")
		require.Equal(t, "207 a=200;b=429;c=403;", fmt.Sprint(status, " ", body))
		status, _ = post("", "b")
		require.Equal(t, http.StatusTooManyRequests, status)
		status, body = post("", "b")
		require.Equal(t, "207 b=200;", fmt.Sprint(status, " ", body))
		return fmt.Errorf("c: 403")
	}), One(Fault{Class: trace.Partial, Items: "b:throttled,#3:forbidden"}, Fail(trace.Throttled)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	a := r.Trace.Actions()[0]
	require.Len(t, a.Series, 1)
	require.Equal(t, trace.Items("a:ok,b:throttled,c:forbidden"), a.Attempts[0].Outcome.Items)
	require.Equal(t, trace.Partial, a.Attempts[0].Outcome.Class)
	require.Equal(t, trace.Throttled, a.Attempts[1].Outcome.Class)
	require.Empty(t, a.Attempts[1].Outcome.Items)
	var done []string
	for _, e := range a.Effects {
		done = append(done, string(r.Trace.Events[e].Outcome.Items))
	}
	require.Equal(t, []string{"a", "b"}, done)
}

// The whole batch again is found over HTTP as anywhere.
func TestAWholeBatchAgainIsFoundOverHTTP(t *testing.T) {
	r := Trial(t, mailing("", letters, func(post func(string, ...string) (int, string)) error {
		post("", "a", "b")
		post("", "a", "b")
		return nil
	}), One(Fault{Class: trace.Partial, Items: "#2:throttled"}))
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "batch-retry", r.Findings[0].Invariant)
}

// A service that knows the key again does each item of it once.
func TestAKeyedBatchOverHTTPDoesAnItemOnce(t *testing.T) {
	r := Trial(t, mailing("Idempotency-Key", letters, func(post func(string, ...string) (int, string)) error {
		post("k", "a", "b")
		return nil
	}), One(Fault{Twice: true}))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.Len(t, r.Trace.Actions()[0].Effects, 1)
}

// What a batch over HTTP cannot show, and how it must not be declared.
func TestABatchOverHTTPHasItsLimits(t *testing.T) {
	none := func(func(string, ...string) (int, string)) error { return nil }
	_, can, err := Tools(t, mailing("", letters, none))
	require.NoError(t, err)
	require.True(t, can(Fault{Class: trace.Partial, Items: "#1:throttled,#2:invalid"}))
	for _, f := range []Fault{
		{Class: trace.Partial, Items: "#1:reset"},
		{Class: trace.Partial, Items: "#1:unknown"},
		{Class: trace.Partial, Items: "#1:throttled", Hint: 1},
		{Class: trace.Partial},
	} {
		require.False(t, can(f), "%+v", f)
	}
	_, _, err = Tools(t, mailing("", &RouteBatch{}, none))
	require.ErrorContains(t, err, "Route.Batch has no Items or no Answer")
	_, can, err = Tools(t, mailing("", nil, none))
	require.NoError(t, err)
	require.False(t, can(Fault{Class: trace.Partial, Items: "#1:throttled"}))
}
