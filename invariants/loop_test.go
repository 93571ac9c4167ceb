package invariants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestContradictionsOfALoopAreNamedWithTheirFix(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		field string
		loop  Loop
	}{
		{"Turns", Loop{Turns: -1}},
		{"Tokens", Loop{Tokens: -1}},
		{"Leave", Loop{Approve: []string{"pay"}, Leave: "always"}},
		{"Leave", Loop{Leave: LeaveRun}},
		{"Count", Loop{Count: "sheep"}},
		{"Count", Loop{Count: CountEach}},
		{"Tools", Loop{Tools: []string{""}}},
		{"Evidence", Loop{Evidence: []string{""}}},
		{"Orders", Loop{Orders: []string{""}}},
		{"Protected", Loop{Protected: []string{"order..amount"}}},
		{"Approve", Loop{Tools: []string{"weather"}, Approve: []string{"pay"}}},
		{"Goal", Loop{Tools: []string{"weather"}, Goal: "pay"}},
		{"AfterGoal", Loop{AfterGoal: []string{"mail"}}},
		{"Claims", Loop{Claims: func(string) bool { return true }}},
		{"Correct.Once", Loop{Correct: Correct{FromError: true}}},
		{"Correct.Fields", Loop{Correct: Correct{Once: true, Fields: []string{""}}}},
		{"Intention", Loop{Intention: 5, Attempts: 3}},
		{"Model", Loop{Model: Policy{ID: "model/v1"}}},
	} {
		c.loop.ID = "support/v1"
		err := c.loop.Validate()
		require.ErrorContains(t, err, fmt.Sprintf(`loop "support/v1": %s: `, c.field))
		found := Find(again(2, "weather", pune, transient).quits("x"), c.loop.Invariants(once)...)
		require.Len(t, found, 1, "a contract that contradicts itself is the finding")
		require.Equal(t, "turns-bounded", found[0].Invariant)
		fmt.Fprintln(&b, err)
	}
	golden(t, "loop-contradictions.golden", b.String())
	require.NoError(t, Loop{}.Validate())
	require.NoError(t, everyLoop().Validate())
}

func TestALoopUnderAPolicyThatMakesNoSenseIsAFinding(t *testing.T) {
	found := Find(quiet(), Loop{}.Invariants(Policy{ID: "x"})...)
	require.Len(t, found, 1)
	require.Equal(t, "conforms", found[0].Invariant)
}

func TestWhatClaimsSuccess(t *testing.T) {
	for text, want := range map[string]bool{
		"Done.":                                       true,
		"I looked. Your table is booked!":             true,
		"operation succeeded, payment id 42":          true,
		"Done - and it isn't much.":                   false,
		"The payment was not completed.":              false,
		"I couldn’t get it done.":                     false,
		"I will have it done by noon.":                false,
		"Is it done?":                                 false,
		"It could not be sent. The draft is saved.":   true,
		"It is 19 °C in Pune.":                        false,
		"":                                            false,
		"If it is booked, you get a mail.":            false,
		"Unable to confirm that the order was placed": false,
		"Your ticket to Pune is booked.":              true,
		"I sent the e-mail to Bob.":                   true,
		"I'll get that booked for you.":               false,
		"I’ll have it sent at once.":                  false,
		"Let me get this booked.":                     false,
		"It is going to get done.":                    false,
		"It has to be approved first.":                false,
		"I need to get it approved.":                  false,
		"The order is yet to get placed.":             false,
	} {
		require.Equal(t, want, ClaimsSuccess(text), text)
	}
}

// The rules of a policy that speak of an action as a whole are not held to the asks of
// a run, and those that are have one name each.
func TestEachRuleOfALoopHasANameOfItsOwn(t *testing.T) {
	names := map[string]bool{}
	for _, inv := range everyLoop().Invariants(Policy{ID: "write/v1", MaxAttempts: 2, Retry: []trace.Class{throttle}, Key: "key"}) {
		require.False(t, names[inv.Name], inv.Name)
		require.NotEmpty(t, inv.Rule, inv.Name)
		names[inv.Name] = true
	}
	for _, name := range []string{"honest-ending", "no-first-delay", "no-last-delay"} {
		require.False(t, names[name], name)
	}
}

// Two asks for the same in one turn cannot be told apart, so neither is judged by itself.
func TestTwinsAreNotTakenForRetries(t *testing.T) {
	twins := requested("x").model("", ask("c1", "weather", pune), ask("c1", "weather", pune)).tool("weather", pune, transient).tool("weather", pune, ok).
		result("c1", "!down").result("c1", "ok").model("It is warm.").returns("It is warm.")
	require.Empty(t, Find(twins, Loop{}.Invariants(once)...))
}

// Calls that are no attempts are of the only ask that is open.
func TestAnAskThatFetchesCredentialsNeedsNoWait(t *testing.T) {
	p := Policy{ID: "auth/v1", MaxAttempts: 2, Retry: []trace.Class{transient}, Repeatable: true, Backoff: Backoff{Base: sec}, Refresh: Refresh{Once: true}}
	fresh := requested("x").model("", ask("c1", "weather", pune)).tool("weather", pune, trace.Unauthenticated).
		calls(trace.Call{Tool: "token", Role: trace.RoleAuth}, "").answers("token", fine, "1").tool("weather", pune, ok).quits("x")
	require.Empty(t, Find(fresh, Loop{}.Invariants(p)...))
}

// A run of two agents is judged with the asks of both.
func TestAChildAgentHasTurnsOfItsOwn(t *testing.T) {
	s := requested("x").offers("researcher").model("", ask("c1", "researcher", pune))
	child := s.prompt
	under(s, "researcher", func() {
		s.prompt = trace.Prompt{Messages: []trace.Message{{From: trace.FromUser, Text: "find it"}}, Tools: []string{"search"}}
		s.turn(1, "search", pune, ok).model("It is there.")
	})
	s.prompt = child
	tr := s.agent("researcher", pune, ok).result("c1", "It is there.").model("It is there.").returns("It is there.")
	require.Empty(t, Find(tr, Loop{Turns: 2}.Invariants(once)...), tr.Timeline())
	require.Equal(t, "turns-bounded", Find(tr, Loop{Turns: 1}.Invariants(once)...)[0].Invariant)
}

// A right run is right to whoever sees none of its values: what words could tell is
// not judged, and leave compares with the call that it is for.
func TestARunIsJudgedWithoutItsValues(t *testing.T) {
	l := Loop{ID: "support/v1", Approve: []string{"pay"}}
	play := func(leaveFor string) []Finding {
		s := requested("Pay 7.")
		s.r.Clear = false
		s.model("", ask("c1", "pay", pay7))
		s.leave("pay", leaveFor, trace.Approval{ID: "a1", Granted: true, Expires: s.r.Trace().Start.Add(time.Hour)})
		s.tool("pay", pay7, forbidden).results(trace.ToolResult{ID: "c1", Text: "The bank is unavailable."})
		return Find(s.model("Sorry, that went wrong.").returns("Sorry, that went wrong."), l.Invariants(once)...)
	}
	require.Empty(t, play(pay7))
	found := play(`{"amount":8}`)
	require.Len(t, found, 1, "leave for something else")
	require.Equal(t, "approved", found[0].Invariant)
}
