package mcp_test

import (
	"fmt"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// orderPolicy is the contract of a write without a key: what was never sent may be
// sent again, and what was lost under way may not.
var orderPolicy = func() invariants.Policy {
	p := readPolicy
	p.ID, p.Repeatable = "orders-mcp/v1", false
	p.Retry = []trace.Class{trace.Throttled, trace.NotConnected}
	return p
}()

// mistakes are agents with one mistake each, as it was made in practice.
var mistakes = []struct {
	name, source, invariant string
	policy                  invariants.Policy
	serve                   door
	change                  func(*agent)
}{
	{"the error flag is ignored", "F026", "honest-ending", readPolicy, mcp.Serve, func(a *agent) { a.flagIgnored = true }},
	{"an error of the protocol is taken for the answer", "F027", "honest-ending", readPolicy, mcp.Serve, func(a *agent) { a.errorsAreText = true }},
	{"an error of the protocol is retried", "F027", "no-retry-after-refusal", readPolicy, mcp.Serve, func(a *agent) { a.errorsRetried = true }},
	{"errors.As tells the server's errors from the transport's", "go-sdk v1.8.0", "conforms", readPolicy, mcp.ServeHTTP, func(a *agent) { a.trustsAs = true }},
	{"a lost session is kept", "F028", "new-session-used", readPolicy, mcp.ServeHTTP, func(a *agent) { a.keeps = true }},
	{"a lost session is kept, in memory", "F028", "new-session-used", readPolicy, mcp.Serve, func(a *agent) { a.keeps = true }},
	{"an order is sent again over a new session", "F028", "one-effect", orderPolicy, mcp.Serve, func(a *agent) { a.replays = true }},
	{"an order is sent again over a new session of HTTP", "F028", "one-effect", orderPolicy, mcp.ServeHTTP, func(a *agent) { a.replays = true }},
	{"an attempt has no limit", "F028", "attempt-timeout", readPolicy, mcp.Serve, func(a *agent) { a.unbounded = true }},
	{"the call does not get the caller's context", "F030", "within-deadline", readPolicy, mcp.Serve, func(a *agent) { a.detached = true }},
	{"the server is not told of a cancel", "F030", "cancel-reaches-tool", readPolicy, mcp.Serve, func(a *agent) { a.mute = true }},
}

func TestEachMistakeIsFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			a := over(m.serve, m.policy, m.change)
			o := explored(t, a)
			for n := 1; n < 40 && o.Invariant() != m.invariant; n++ { // which of several rules breaks first is chance
				t.Run(fmt.Sprintf("seed-%d", n), func(t *testing.T) { o = explored(t, a) })
			}
			assert.Equal(t, m.invariant, o.Invariant(), "%s\n%s", o.Findings[0], o.Schedule)
			t.Logf("%s\n%s\n%s", o.Invariant(), rows(t, a), o.Schedule)
		})
	}
}

// explored wants a finding.
func explored(t *testing.T, a faultsim.Adapter) faultsim.Outcome {
	t.Helper()
	o, err := faultsim.Explore(t, a)
	require.NoError(t, err)
	require.NotZero(t, o.Trial, "missed in %d trials", o.Trials)
	return o
}

// rows are the rows of the matrix that fail.
func rows(t *testing.T, a faultsim.Adapter) (names []string) {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	for _, p := range played {
		if p.Complaint != "" {
			names = append(names, p.Row.Name)
		}
	}
	return names
}
