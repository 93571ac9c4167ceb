package invariants

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func member(change func(*Policy)) Policy {
	p := Policy{ID: "member/v1", MaxAttempts: 3, Repeatable: true, Retry: []trace.Class{trace.Transient},
		Backoff: Backoff{Base: time.Second}, Refresh: Refresh{Once: true, Credential: "token", Shared: true}}
	if change != nil {
		change(&p)
	}
	return p
}

// after each answer: what is allowed, the window, and the reason of an end.
func TestAnUnauthenticatedAnswerIsMendedOnce(t *testing.T) {
	extra := func(p *Policy) { p.Refresh.Extra = true }
	const no, passing = trace.Unauthenticated, trace.Transient
	for _, tt := range []struct {
		name    string
		change  func(*Policy)
		answers []trace.Class
		do      Choice
		lo, hi  time.Duration
		reason  trace.Reason
	}{
		{"a refresh and a repeat, at once or after the wait", nil, []trace.Class{no}, Go, 0, time.Second, 0},
		{"the second in a row is a refusal", nil, []trace.Class{no, no}, Stop, 0, 0, trace.ReasonRefused},
		{"one after another failure is the first", nil, []trace.Class{passing, no}, Go, 0, 2 * time.Second, 0},
		{"one in between leaves the choice", func(p *Policy) { p.MaxAttempts = 4 }, []trace.Class{no, passing, no}, Either, 0, 4 * time.Second, trace.ReasonRefused},
		{"the repeat is an attempt", nil, []trace.Class{passing, passing, no}, Stop, 0, 0, trace.ReasonRefused},
		{"the repeat is none where that is declared", extra, []trace.Class{passing, passing, no}, Go, 0, 4 * time.Second, 0},
		{"and the attempt after it is the last", extra, []trace.Class{passing, passing, no, passing}, Stop, 0, 0, trace.ReasonExhausted},
		{"the refresh counts as a failure or not", nil, []trace.Class{no, passing}, Go, time.Second, 2 * time.Second, 0},
		{"without the promise it is a refusal", func(p *Policy) { p.Refresh = Refresh{} }, []trace.Class{no}, Stop, 0, 0, trace.ReasonRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := member(tt.change)
			require.NoError(t, p.Validate())
			s := p.Start(0, 0)
			var d Decision
			for i, c := range tt.answers {
				d = s.Next(trace.Outcome{Class: c}, time.Duration(i)*time.Minute)
			}
			require.Equal(t, tt.do, d.Do, d)
			if d.Do != Stop {
				require.Equal(t, []time.Duration{tt.lo, tt.hi}, []time.Duration{d.Lo, d.Hi})
			}
			require.Equal(t, tt.reason, d.Reason)
		})
	}
}

func TestTheEndAtTheLastRefusalIsExhaustedToo(t *testing.T) {
	p := member(func(p *Policy) { p.MaxAttempts = 2 })
	s := p.Start(0, 0)
	s.Next(trace.Outcome{Class: trace.Transient}, 0)
	d := s.Next(trace.Outcome{Class: trace.Unauthenticated}, time.Second)
	require.True(t, d.Allows(trace.ReasonRefused) && d.Allows(trace.ReasonExhausted), d)
}

func TestARefreshThatCannotBeIsNamed(t *testing.T) {
	for field, change := range map[string]func(*Policy){
		"Refresh.Once: is false while":      func(p *Policy) { p.Refresh.Once = false },
		"Refresh.Once: is set, and Retry":   func(p *Policy) { p.Retry = append(p.Retry, trace.Unauthenticated) },
		"Refresh.Once: is set, and MaxAtte": func(p *Policy) { p.MaxAttempts, p.Retry = 1, nil },
		"Refresh.Shared: is set, and Refre": func(p *Policy) { p.Refresh.Credential = "" },
	} {
		p := member(change)
		require.ErrorContains(t, p.Validate(), field)
	}
	p := member(func(p *Policy) { p.MaxAttempts, p.Retry, p.Refresh.Extra = 1, nil, true })
	require.NoError(t, p.Validate())
}

// A refresher writes a trace, everything at one instant, as it is with a double
// that takes no time.
type refresher struct {
	events []trace.Event
	calls  int
	action string
}

func (r *refresher) as(action string) *refresher { r.action = action; return r }

func (r *refresher) call(token string, c trace.Class) *refresher {
	r.calls++
	r.events = append(r.events,
		trace.Event{Kind: trace.KindCall, Action: r.action, Tool: "weather", Call: r.calls, Credential: token},
		trace.Event{Kind: trace.KindAnswer, Action: r.action, Tool: "weather", Call: r.calls, Outcome: trace.Outcome{Class: c}})
	return r
}

func (r *refresher) begins() *refresher {
	r.calls++
	r.events = append(r.events, trace.Event{Kind: trace.KindCall, Role: trace.RoleAuth, Action: r.action, Tool: "auth", Call: r.calls})
	return r
}

func (r *refresher) fresh(c trace.Class) *refresher {
	r.begins()
	r.events = append(r.events, trace.Event{Kind: trace.KindAnswer, Action: r.action, Tool: "auth", Call: r.calls, Outcome: trace.Outcome{Class: c}})
	return r
}

func TestRulesOfRefreshing(t *testing.T) {
	const ok, no, passing = trace.OK, trace.Unauthenticated, trace.Transient
	from := func() *refresher { return (&refresher{}).as("a") }
	for _, tt := range []struct {
		name  string
		r     *refresher
		early bool
		broke []string
	}{
		{"one refresh, the new one", from().fresh(ok).call("1", no).fresh(ok).call("2", ok), false, nil},
		{"the old one again", from().call("1", no).fresh(ok).call("1", no), false, []string{"new-credential-used"}},
		{"no refresh", from().call("1", no).call("1", no), false, []string{"new-credential-used"}},
		{"what another caller brought", from().call("1", no).as("b").call("1", no).fresh(ok).call("2", ok).as("a").call("2", ok), false, nil},
		{"a third call", from().call("1", no).fresh(ok).call("2", no).fresh(ok).call("3", ok), false, []string{"refreshed-once"}},
		{"two refreshes at once", from().call("1", no).fresh(ok).fresh(ok).call("3", ok), false, []string{"refreshed-once"}},
		{"a refresh that failed is repeated", from().call("1", no).fresh(passing).fresh(ok).call("2", ok), false, nil},
		{"after another failure", from().call("1", passing).fresh(ok).call("2", ok), false, []string{"refreshed-once"}},
		{"before it expired, where that is declared", from().call("1", passing).fresh(ok).call("2", ok), true, nil},
		{"a stampede", from().call("1", no).as("b").call("1", no).as("a").begins().as("b").begins(), false, []string{"refresh-shared"}},
		{"one behind the other", from().call("1", no).as("b").call("1", no).as("a").fresh(ok).as("b").fresh(ok), false, []string{"refresh-shared"}},
		{"after one that failed", from().call("1", no).as("b").call("1", no).as("a").fresh(passing).as("b").fresh(ok), false, nil},
		{"the next credential's", from().call("1", no).fresh(ok).call("2", ok).as("b").call("2", no).fresh(ok).call("3", ok), false, nil},
		{"no credential is seen", from().call("", no).fresh(ok).call("", ok), false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := member(func(p *Policy) { p.Refresh.Early = tt.early })
			var broke []string
			for _, f := range Find(&trace.Trace{Events: tt.r.events}, NewCredentialUsed(), RefreshedOnce(p), RefreshShared()) {
				broke = append(broke, f.Invariant)
			}
			require.Equal(t, tt.broke, broke)
		})
	}
}

// The narrow rules count what they looked at.
func TestRulesOfRefreshingApply(t *testing.T) {
	tr := &trace.Trace{Events: (&refresher{}).as("a").call("1", trace.Unauthenticated).fresh(trace.OK).call("2", trace.OK).events}
	require.Equal(t, map[string]int{"new-credential-used": 1, "refreshed-once": 1, "refresh-shared": 1},
		Applied(tr, NewCredentialUsed(), RefreshedOnce(member(nil)), RefreshShared()))
}
