package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sunny(context.Context, json.RawMessage) (mcp.Result, error) { return mcp.Text("19 degrees"), nil }

var doors = map[string]door{"in memory": mcp.Serve, "over HTTP": mcp.ServeHTTP}

func right(*agent) {}

// A case gives the same trace each time, although goroutines of client and server
// hand it on.
func TestACaseComesBackAsItWas(t *testing.T) {
	sched, err := faultsim.Parse(`rehearse schedule 1
action deadline=20s
  weather 1 reset done after=70ns
  weather 2 hang
  weather 3 not-connected
action cancel=1s
  weather 1 ok after=5ms
  weather 2 ok
action cancel=3ms
  weather 1 hang
`)
	require.NoError(t, err)
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			first := ""
			for n := range 50 {
				r := faultsim.Trial(t, over(serve, readPolicy, right), sched)
				require.NoError(t, r.Err)
				require.Empty(t, r.Findings)
				if n == 0 {
					first = r.Trace.Timeline()
				}
				require.Equal(t, first, r.Trace.Timeline(), "run %d", n)
			}
		})
	}
}

func TestRightReaderKeepsItsPolicy(t *testing.T) {
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			t.Run("matrix", func(t *testing.T) { matrix.Run(t, over(serve, readPolicy, right)) })
			t.Run("check", func(t *testing.T) { faultsim.Check(t, over(serve, readPolicy, right)) })
		})
	}
}

// Schedules that an exploration has found: in each, what one call does to the
// session once reached the calls beside it in another way than was written down.
var found = map[string]string{
	"a cancel over a session that is lost": `
action
  weather 1 reset after=127.00007ms
action
  weather 1 hang
action
  weather 1 reset done
  weather 2 reset done work=27ns
  weather 3 timeout done
serial weather
at-once
`,
	"two calls lose their session one after another": `
action
  weather 1 hang
  weather 2 transient after=70ns
  weather 3 transient after=200ms
action
  weather 1 transient
  weather 2 hang
action
outage weather from=5.517578133s to=15.263671906s not-connected
serial weather
at-once
`,
	"a refusal behind the loss, beside another call": `
action
  weather 1 transient
  weather 2 reset
action
  weather 1 not-connected after=100.00007ms
action
  weather 1 quota-exhausted after=100.00007ms
at-once
`,
	"an answer behind the loss": `
action
  weather 1 not-connected after=70ns
action
serial weather
at-once
`,
	"a call hangs beside the one that loses the session": `
action
  weather 1 hang
action
  weather 1 not-connected
at-once
`,
}

func TestFoundSchedulesStayRight(t *testing.T) {
	for name, text := range found {
		sched, err := faultsim.Parse("rehearse schedule 1" + text)
		require.NoError(t, err)
		for wire, serve := range doors {
			t.Run(name+" "+wire, func(t *testing.T) {
				for range 20 {
					r := faultsim.Trial(t, over(serve, readPolicy, right), sched)
					require.NoError(t, r.Err)
					require.Empty(t, r.Findings)
				}
			})
		}
	}
}

// Only the first tool takes the session away. Over one session both are called.
func TestAStageOfTwoTools(t *testing.T) {
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			a := faultsim.Adapter{
				Name: "plan", Policy: invariants.Policy{ID: "two-tools/v1", MaxAttempts: 1}, Want: "19 degrees",
				Subject: func(st *faultsim.Stage) faultsim.Action {
					server := serve(st, mcp.StageTool{Name: "weather", Fake: sunny}, mcp.StageTool{Name: "almanac"})
					s, err := newClient().Connect(context.Background(), server.Transport(), nil)
					require.NoError(t, err)
					st.Close(func() { s.Close() })
					return func(ctx context.Context) (any, error) {
						res, err := callTool(ctx, s, "almanac")
						if err != nil || res.IsError {
							return nil, errors.New(shape(res, err))
						}
						res, err = callTool(ctx, s, "weather")
						if err != nil || res.IsError {
							return nil, errors.New(shape(res, err))
						}
						return words(res), nil
					}
				},
			}
			play := func(lines string) faultsim.Result {
				sched, err := faultsim.Parse("rehearse schedule 1\naction\n" + lines)
				require.NoError(t, err)
				return faultsim.Trial(t, a, sched)
			}
			r := play("  almanac 1 declined\n")
			require.NoError(t, r.Err)
			assert.Contains(t, r.Trace.Timeline(), "the answer is no")
			assert.NotContains(t, r.Trace.Timeline(), "weather 1")
			r = play("  weather 1 reset done\n")
			require.NoError(t, r.Err)
			assert.Contains(t, r.Trace.Timeline(), `almanac 1          ok`)
			assert.Contains(t, r.Trace.Timeline(), `weather 1          reset   "EOF"`)
			assert.ErrorContains(t, play("  almanac 1 reset\n").Err, "almanac")
		})
	}
}
