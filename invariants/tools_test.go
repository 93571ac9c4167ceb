package invariants_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// search is a read of three attempts, beside which "mail" is sent once and "store"
// has five attempts with a key, in a time of its own.
func search() Policy {
	p := reading(3, Backoff{Base: sec})
	p.Tools = map[string]Policy{
		"mail":  {ID: "mail", MaxAttempts: 1},
		"store": {ID: "store", MaxAttempts: 5, Key: "key", Retry: []trace.Class{trace.Transient}, Backoff: Backoff{Base: 2 * sec, Factor: 1}, Budget: 10 * sec},
	}
	return p
}

func TestEachToolIsJudgedByItsOwnPolicy(t *testing.T) {
	down := trace.Transient
	for _, c := range []struct {
		name string
		tr   interface{ Trace() *trace.Trace }
		want string // the first finding; empty: none
	}{
		{"each as it may", begin().Call("look", pune).Answer(down).After(sec).Call("look", pune).Answer(ok).
			Key("k").Call("store", pune).Answer(down).After(2*sec).Call("store", pune).Answer(down).After(2*sec).Call("store", pune).Answer(down).
			After(2*sec).Call("store", pune).Answer(ok).Key("").Call("mail", pune).Answer(ok).End(), ""},
		{"the mail a second time", begin().Call("look", pune).Answer(ok).Call("mail", pune).Answer(trace.Reset).Call("mail", pune).Answer(ok).End(), "attempts-bounded"},
		{"four attempts of the read", begin().Call("look", pune).Answer(down).After(sec).Call("look", pune).Answer(down).After(2*sec).Call("look", pune).Answer(down).
			After(4*sec).Call("look", pune).Answer(ok).End(), "attempts-bounded"},
		{"the read's wait before the store's", begin().Key("k").Call("store", pune).Answer(down).After(sec).Call("store", pune).Answer(ok).End(), "waits-in-window"},
		{"no key for the store", begin().Call("store", pune).Answer(ok).End(), "one-key"},
		{"the store given up too early", begin().Key("k").Call("store", pune).Answer(down).After(2*sec).Call("store", pune).Answer(down).Fail("503"), "conforms"},
		{"the time of the store begins with it", begin().Call("look", pune).After(time.Minute).Answer(ok).
			Key("k").Call("store", pune).Answer(down).After(2*sec).Call("store", pune).Answer(ok).End(), ""},
		{"and ends", begin().Call("look", pune).Answer(ok).Key("k").Call("store", pune).After(9*sec).Answer(down).After(2*sec).Call("store", pune).Answer(ok).End(), "within-budget"},
		{"the mail was sent twice", begin().Call("mail", pune).Effect().Answer(trace.Reset).Call("mail", pune).Effect().Answer(ok).End(), "attempts-bounded"},
	} {
		p := search()
		found := Find(c.tr.Trace(), p.Invariants()...)
		if c.want == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.NotEmpty(t, found, c.name)
		require.Equal(t, c.want, found[0].Invariant, "%s: %v", c.name, found)
		for _, e := range found[0].Events {
			require.Less(t, e, len(c.tr.Trace().Events), c.name)
		}
	}
}

// The end of an action is that of its last series, by that tool's policy.
func TestTheTerminalIsThatOfTheLastTool(t *testing.T) {
	p := search()
	tr := begin().Call("look", pune).Answer(ok).After(1).Call("mail", pune).Answer(trace.Transient).Fail("503").Trace()
	require.Equal(t, trace.ReasonOutcomeUnknown.String(), p.Terminal(&tr.Actions()[0]).String())
	require.Empty(t, Find(tr, p.Invariants()...))
	p.Tools = nil
	require.NotEmpty(t, Find(tr, p.Invariants()...), "a read would be tried again")
}

// What a finding points at is in the whole trace, though the rule saw a part.
func TestFindingsOfOneToolPointIntoTheWholeTrace(t *testing.T) {
	p := search()
	tr := begin().Call("look", pune).Answer(ok).Call("mail", pune).Answer(trace.Reset).Call("mail", pune).Answer(ok).End().Trace()
	found := Find(tr, p.Invariants()...)
	require.Equal(t, "attempts-bounded", found[0].Invariant)
	second := tr.Events[found[0].Events[0]]
	require.Equal(t, trace.KindCall, second.Kind)
	require.Equal(t, "mail", second.Tool)
	require.Equal(t, 3, second.Call)
}

func TestPoliciesOfToolsAreContent(t *testing.T) {
	p := search()
	var back Policy
	require.NoError(t, json.Unmarshal(p.Content(), &back))
	require.Equal(t, p, back)
	require.Contains(t, string(p.Content()), `"tools":{"mail":{"id":"mail","maxAttempts":1},"store":{`)
}

func TestContradictionsOfToolsAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		`Tools["mail"].MaxAttempts: is 0`:        func(p *Policy) { p.Tools["mail"] = Policy{} },
		`Tools["mail"]: has Tools of its own`:    func(p *Policy) { p.Tools["mail"] = Policy{MaxAttempts: 1, Tools: map[string]Policy{"x": {}}} },
		`Tools["store"]: has its key in "key"`:   func(p *Policy) { p.Key = "id" },
		"Tools: has a policy for a tool without": func(p *Policy) { p.Tools[""] = Policy{MaxAttempts: 1} },
	} {
		p := search()
		require.NoError(t, p.Validate())
		change(&p)
		require.ErrorContains(t, p.Validate(), want)
		require.NotPanics(t, func() { Find(tries(transient, ok).Trace(), p.Invariants()...) })
	}
}
