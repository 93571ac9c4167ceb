package faultsim

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// finding is a search for a function tool, with what the action makes of it.
func finding(read func([]string) ([]string, error)) Adapter {
	return Adapter{
		Name: "search", Policy: invariants.Policy{ID: "once/v1", MaxAttempts: 1, Repeatable: true},
		Subject: func(s *Stage) Action {
			find := Tool(s, "search", func(context.Context, string) ([]string, error) { return []string{"a"}, nil },
				Errors{trace.OK: Value([]string{})})
			return func(ctx context.Context) (any, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				hits, err := find(ctx, "words")
				if err != nil {
					return nil, err
				}
				return read(hits)
			}
		},
	}
}

// An answer that holds nothing is the action's honest result, and what is put
// in its place is not.
func TestAnEmptyAnswerIsAnAnswer(t *testing.T) {
	as := func(hits []string) ([]string, error) { return hits, nil }
	r := Trial(t, finding(as), One(Fault{Empty: true}))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.JSONEq(t, `[]`, string(r.Trace.Actions()[0].Attempts[0].Result))
	require.Empty(t, r.Trace.Actions()[0].Effects, "a search that finds nothing has done nothing")

	r = Trial(t, finding(func([]string) ([]string, error) { return []string{"made up"}, nil }), One(Fault{Empty: true}))
	require.Equal(t, "honest-ending", r.Findings[0].Invariant)

	// What the adapter wants is of answers that hold something.
	wants := finding(as)
	wants.Want = []string{"a"}
	require.Empty(t, Trial(t, wants, One(Fault{Empty: true})).Findings)
	require.Empty(t, Trial(t, wants, One()).Findings)
}

// Over HTTP the route says how nothing looks.
func TestARouteAnswersThatThereIsNothing(t *testing.T) {
	a := Adapter{
		Name: "search", Policy: invariants.Policy{ID: "once/v1", MaxAttempts: 1, Repeatable: true}, Want: []string{"a"},
		Subject: func(s *Stage) Action {
			answer := func(body string) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
			}
			client := s.Client(Route{Tool: "search", Answer: answer(`["a"]`), Empty: answer(`[]`)})
			return func(ctx context.Context) (any, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://search.test", nil)
				if err != nil {
					return nil, err
				}
				resp, err := client.Do(req)
				if err != nil {
					return nil, err
				}
				defer resp.Body.Close()
				var hits []string
				return hits, json.NewDecoder(resp.Body).Decode(&hits)
			}
		},
	}
	r := Trial(t, a, One(Fault{Empty: true}))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.JSONEq(t, `[]`, string(r.Trace.Actions()[0].Attempts[0].Result))
}

// Who has no such answer is not asked for one, and none is a failure as well.
func TestAnEmptyAnswerMustBeThere(t *testing.T) {
	_, can, err := Tools(t, finding(nil))
	require.NoError(t, err)
	require.True(t, can(Fault{Empty: true}))
	a := finding(nil)
	a.Subject = func(s *Stage) Action {
		Tool[string, []string](s, "search", nil, nil)
		return func(context.Context) (any, error) { return nil, nil }
	}
	_, can, err = Tools(t, a)
	require.NoError(t, err)
	require.False(t, can(Fault{Empty: true}))
	require.ErrorContains(t, Trial(t, finding(nil), One(Fault{Empty: true, Class: trace.Invalid})).Err, "Empty is a valid answer")

	s, err := Parse("rehearse schedule 1\naction\n  search 1 ok empty after=10ms\n")
	require.NoError(t, err)
	require.True(t, s.Actions[0].Faults["search"][0].Empty)
	require.Equal(t, "rehearse schedule 1\naction\n  search 1 ok empty after=10ms\n", s.String())
}
