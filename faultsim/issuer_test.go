package faultsim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var errToken = errors.New("the token is not valid")

type ticket struct{ City, Token string }

// carrying plugs in an action that calls a guarded tool with the tokens, each
// "" for a fresh one, a second apart, and takes what comes.
func carrying(tokens ...string) Adapter {
	a := homeAdapter()
	a.Policy.Refresh = invariants.Refresh{Once: true, Credential: "Token"}
	a.Subject = func(s *Stage) Action {
		fetch := s.Issuer().Aside("auth")
		tool := Tool[ticket, int](s, "weather", nil, Errors{trace.Transient: errBusy, trace.Unauthenticated: errToken})
		return func(ctx context.Context) (any, error) {
			for i, token := range tokens {
				if i > 0 {
					time.Sleep(time.Second)
				}
				if token == "" {
					token, _ = fetch(ctx)
				}
				_, _ = tool(ctx, ticket{"Pune", token})
			}
			return nil, nil
		}
	}
	return a
}

func TestOnlyIssuedCredentialsAreTaken(t *testing.T) {
	no := trace.Outcome{Class: trace.Unauthenticated}
	for _, tt := range []struct {
		name   string
		tokens []string
		s      Schedule
		want   []trace.Outcome
	}{
		{"one that was issued", []string{"", "token-1"}, Schedule{}, []trace.Outcome{up, up}},
		{"one that was not", []string{"token-1", "guessed"}, Schedule{}, []trace.Outcome{no, no}},
		{"an expired one stays so", []string{"", "token-1", ""}, One(Fail(trace.Unauthenticated)), []trace.Outcome{no, no, up}},
		{"another one is as good as before", []string{"", "", "token-1"}, One(Fault{}, Fail(trace.Unauthenticated)), []trace.Outcome{up, no, up}},
		{"all expire at an instant", []string{"", "token-1", "token-1", ""}, Schedule{Expiries: []time.Duration{1500 * time.Millisecond}}, []trace.Outcome{up, up, no, up}},
		{"the instant itself is too late", []string{"", "token-1"}, Schedule{Expiries: []time.Duration{time.Second}}, []trace.Outcome{up, no}},
		{"a tool that is down looks at none", []string{"guessed"}, Schedule{Outages: []Outage{{Main, 0, 1, trace.Transient}}}, []trace.Outcome{down}},
		{"also where the call would have failed alike", []string{"guessed"}, Schedule{Actions: One(Fail(trace.Transient)).Actions, Outages: []Outage{{Main, 0, 1, trace.Transient}}}, []trace.Outcome{down}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, seen(t, carrying(tt.tokens...), tt.s))
		})
	}
}

// What is planned for the process comes also where the call is refused.
func TestARefusedCallKeepsItsCrash(t *testing.T) {
	crash := Fault{Crash: time.Second}
	for name, tt := range map[string]struct {
		a Adapter
		s Schedule
	}{
		"a credential":    {carrying("guessed"), One(crash)},
		"the definitions": {measuring("C", "C"), One(Fail(trace.Invalid), crash)},
		"a session":       {wired(calls(1, 1)), One(Fail(trace.Reset), crash)},
	} {
		r := Trial(t, lingering(tt.a), tt.s)
		require.NoError(t, r.Err, name)
		require.True(t, slices.ContainsFunc(r.Trace.Events, func(e trace.Event) bool { return e.Kind == trace.KindCrash }), name)
	}
}

// lingering is the adapter with code that takes a minute more, and comes back after a
// crash.
func lingering(a Adapter) Adapter {
	build := a.Subject
	a.Subject = func(s *Stage) Action {
		do := build(s)
		return func(ctx context.Context) (any, error) {
			out, err := do(ctx)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return out, err
		}
	}
	a.Resume, a.Policy.Restart = a.Subject, invariants.RestartResumes
	return a
}

// What follows a crash beside a refusal is expected as of one that was planned.
func TestExpectedCrashBesideARefusal(t *testing.T) {
	p := homePolicy()
	p.Refresh = invariants.Refresh{Once: true, Credential: "Token"}
	p.Restart = invariants.RestartResumes
	crash := Fault{Class: trace.Unauthenticated, Crash: 10 * time.Millisecond}
	want, _ := ExpectFirst(p, One(Fail(trace.Transient), crash))
	crash.Class = trace.OK
	s := One(Fail(trace.Transient), crash)
	s.Expiries = []time.Duration{50 * time.Millisecond}
	got, _ := ExpectFirst(p, s)
	require.Equal(t, want, got)
}

// The credential is no argument, and a refusal does no work.
func TestACredentialIsRecordedApart(t *testing.T) {
	a := carrying("guessed", "")
	a.Policy.Repeatable = false
	a.Policy.Retry = nil
	r := Trial(t, a, Schedule{})
	require.NoError(t, r.Err)
	attempts := r.Trace.Actions()[0].Attempts
	require.Equal(t, attempts[0].Args, attempts[1].Args)
	require.Equal(t, "guessed", attempts[0].Credential)
	require.Equal(t, "token-1", attempts[1].Credential)
	require.Len(t, r.Trace.Actions()[0].Effects, 1)
}

func TestExpiriesReadBackAndShrink(t *testing.T) {
	s := Schedule{Actions: make([]Plan, 1), Expiries: []time.Duration{90*time.Second + 13}}
	require.Contains(t, s.String(), "expiry at=1m30.000000013s\n")
	back, err := Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
	for _, line := range []string{"expiry", "expiry at=0s", "expiry at=-1s", "expiry by=1s", "expiry 1s", "expiry at=1s at=2s"} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.Error(t, err, line)
	}
	var gone, rounder bool
	for c := range smallerThan(s, &drawer{}) {
		gone = gone || len(c.Expiries) == 0
		rounder = rounder || len(c.Expiries) == 1 && c.Expiries[0] < s.Expiries[0]
	}
	require.True(t, gone && rounder)
}

func TestExpiriesNeedAnIssuer(t *testing.T) {
	s := Schedule{Expiries: []time.Duration{time.Second}}
	r := Trial(t, homeAdapter(), s)
	_, unfit := errors.AsType[*UnfitError](r.Err)
	require.True(t, unfit, r.Err)
	s.Expiries[0] = -1
	require.ErrorContains(t, Trial(t, carrying(), s).Err, "count it from the begin of the first action")
	a := carrying()
	a.Policy.Refresh = invariants.Refresh{}
	require.ErrorContains(t, Trial(t, a, Schedule{}).Err, "set Policy.Refresh.Credential")
}

func TestExpectedRefreshes(t *testing.T) {
	p := homePolicy()
	p.Refresh = invariants.Refresh{Once: true, Credential: "Token"}
	no, busy := Fail(trace.Unauthenticated), Fail(trace.Transient)
	for _, tt := range []struct {
		name    string
		faults  []Fault
		expires []time.Duration
		calls   int
		reason  trace.Reason
	}{
		{"expired", []Fault{no}, nil, 2, trace.ReasonSuccess},
		{"refused for good", []Fault{no, no}, nil, 2, trace.ReasonRefused},
		{"expired in the backoff", []Fault{busy}, []time.Duration{50 * time.Millisecond}, 3, trace.ReasonSuccess},
		{"expired behind the success", []Fault{busy}, []time.Duration{150 * time.Millisecond}, 2, trace.ReasonSuccess},
		{"expired before the last attempt", []Fault{busy, busy}, []time.Duration{250 * time.Millisecond}, 3, trace.ReasonRefused},
	} {
		s := One(tt.faults...)
		s.Expiries = tt.expires
		e, ok := ExpectFirst(p, s)
		require.True(t, ok)
		require.Equal(t, Expectation{tt.calls, tt.calls, []trace.Reason{tt.reason}}, e, tt.name)
	}
}

// An attempt in an outage uses no credential up, also where it would have failed alike.
func TestExpectedRefreshesBehindAnOutage(t *testing.T) {
	p := homePolicy()
	p.Refresh = invariants.Refresh{Once: true, Credential: "Token"}
	busy := Fail(trace.Transient)
	s := One(busy, busy)
	s.Expiries = []time.Duration{50 * time.Millisecond}
	for _, class := range []trace.Class{trace.Transient, trace.Timeout} {
		s.Outages = []Outage{{Main, 0, 150 * time.Millisecond, class}}
		e, ok := ExpectFirst(p, s)
		require.True(t, ok)
		require.Equal(t, Expectation{3, 3, []trace.Reason{trace.ReasonRefused}}, e, class)
	}
}

// Both ways to make a credential expire are drawn, for adapters with an issuer.
func TestExpiryIsDrawn(t *testing.T) {
	a := carrying()
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	var byTime, twice int
	for i := range 500 {
		s := gen.Example(i)
		byTime += len(s.Expiries)
		for _, p := range s.Actions {
			faults := p.Faults["weather"]
			for n := range faults[:max(len(faults)-1, 0)] {
				if faults[n].Class == trace.Unauthenticated && faults[n+1].Class == trace.Unauthenticated {
					twice++
				}
			}
		}
	}
	require.Greater(t, byTime, 30)
	require.Greater(t, twice, 30)
}
