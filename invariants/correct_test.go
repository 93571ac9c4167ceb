package invariants

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func gauge(change func(*Policy)) Policy {
	p := Policy{ID: "gauge/v1", MaxAttempts: 3, Repeatable: true, Retry: []trace.Class{trace.Transient},
		Backoff: Backoff{Base: time.Second}, Correct: Correct{Once: true, Fields: []string{"unit"}}}
	if change != nil {
		change(&p)
	}
	return p
}

// after each answer: what is allowed, the window, and the reason of an end.
func TestARejectionMayBeCorrectedOnce(t *testing.T) {
	const no, passing = trace.Invalid, trace.Transient
	needs, refused := trace.ReasonNeedsInput, trace.ReasonRefused
	for _, tt := range []struct {
		name    string
		change  func(*Policy)
		answers []trace.Class
		do      Choice
		lo, hi  time.Duration
		reason  trace.Reason
	}{
		{"a correction, at once or after the wait, or the end", nil, []trace.Class{no}, Either, 0, time.Second, needs},
		{"the second rejection ends it", nil, []trace.Class{no, no}, Stop, 0, 0, needs},
		{"also with another failure in between", func(p *Policy) { p.MaxAttempts = 4 }, []trace.Class{no, passing, no}, Stop, 0, 0, needs},
		{"one after another failure is the first", nil, []trace.Class{passing, no}, Either, 0, 2 * time.Second, needs},
		{"the corrected call is an attempt", nil, []trace.Class{passing, passing, no}, Stop, 0, 0, needs},
		{"the rejection counts as a failure or not", nil, []trace.Class{no, passing}, Go, time.Second, 2 * time.Second, 0},
		{"without the promise it is the end", func(p *Policy) { p.Correct = Correct{} }, []trace.Class{no}, Stop, 0, 0, needs},
		{"what is not paid for is not made", func(p *Policy) { p.Price, p.Spend = 1, 1 }, []trace.Class{no}, Stop, 0, 0, needs},
		{"another refusal is none to correct", nil, []trace.Class{trace.Forbidden}, Stop, 0, 0, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gauge(tt.change)
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

// Whoever finds no safe mapping ends at once, also where a limit or the cancel
// could have ended a wait.
func TestAnEndInsteadOfACorrectionComesAtOnce(t *testing.T) {
	p := gauge(func(p *Policy) { p.Late, p.MaxAttempts = LateWait, 2 })
	limited := p.Start(0, time.Second/2)
	doomed := p.Start(0, 0)
	doomed.Cancel(time.Second / 2)
	for name, s := range map[string]*Series{"a deadline": &limited, "a cancel": &doomed} {
		d := s.Next(trace.Outcome{Class: trace.Invalid}, time.Second/4)
		require.Equal(t, Either, d.Do, name)
		require.Equal(t, time.Second/4, d.EndLo, name)
		require.True(t, d.Allows(trace.ReasonNeedsInput), name)
	}
}

// The word of the failing tool goes before the class where the policy says so.
func TestATrustedWordDecidesOnACorrection(t *testing.T) {
	for _, tt := range []struct {
		use    AdviceUse
		advice trace.Advice
		do     Choice
	}{
		{AdviceIgnored, trace.AdviceStop, Either},
		{AdviceStops, trace.AdviceStop, Stop},
		{AdviceStops, trace.AdviceRetry, Either},
		{AdviceDecides, trace.AdviceRetry, Go},
		{AdviceDecides, trace.AdviceNone, Either},
	} {
		p := gauge(func(p *Policy) { p.Advice = tt.use })
		s := p.Start(0, 0)
		require.Equal(t, tt.do, s.Next(trace.Outcome{Class: trace.Invalid, Advice: tt.advice}, 0).Do, tt)
	}
}

func TestACorrectionThatCannotBeIsNamed(t *testing.T) {
	for field, change := range map[string]func(*Policy){
		"Correct.Once: is false while":       func(p *Policy) { p.Correct.Once = false },
		"Correct.Once: is set, and Retry":    func(p *Policy) { p.Retry = append(p.Retry, trace.Invalid) },
		"Correct.Once: is set, and MaxAttem": func(p *Policy) { p.MaxAttempts, p.Retry = 1, nil },
		"Correct.Fields: holds an empty":     func(p *Policy) { p.Correct.Fields = []string{""} },
	} {
		p := gauge(change)
		require.ErrorContains(t, p.Validate(), field)
	}
}

// A corrector writes a trace, everything at one instant.
type corrector struct {
	events  []trace.Event
	calls   int
	version string
}

func (c *corrector) as(kind trace.Role, tool, args string, class trace.Class) *corrector {
	c.calls++
	call := trace.Event{Kind: trace.KindCall, Role: kind, Tool: tool, Call: c.calls, Definition: c.version}
	if args != "" {
		call.Args = json.RawMessage(args)
	}
	c.events = append(c.events, call, trace.Event{Kind: trace.KindAnswer, Tool: tool, Call: c.calls, Outcome: trace.Outcome{Class: class}})
	return c
}

func (c *corrector) sends(city, unit string, class trace.Class) *corrector {
	return c.as(trace.RoleAttempt, "weather", `{"city":"`+city+`","unit":"`+unit+`"}`, class)
}

func (c *corrector) looks(class trace.Class) *corrector {
	return c.as(trace.RoleDefinitions, "tools/list", "", class)
}

// knows is the version that another action has brought.
func (c *corrector) knows(version string) *corrector { c.version = version; return c }

func TestRulesOfCorrecting(t *testing.T) {
	const ok, no, passing = trace.OK, trace.Invalid, trace.Transient
	const again, invented, often, beyond = "rejected-payload", "correction-grounded", "corrected-once", "protected-arguments"
	from := func() *corrector { return &corrector{} }
	rejected := func() *corrector { return from().sends("Pune", "C", no) }
	for _, tt := range []struct {
		name   string
		c      *corrector
		change func(*Policy)
		broke  []string
	}{
		{"looked and mapped", rejected().looks(ok).sends("Pune", "celsius", ok), nil, nil},
		{"gave up", rejected().looks(ok), nil, nil},
		{"the same again", rejected().sends("Pune", "C", ok), nil, []string{again}},
		{"the same again, in another order", rejected().looks(ok).as(trace.RoleAttempt, "weather", `{"unit":"C","city":"Pune"}`, ok), nil, []string{again}},
		{"the same again behind a passing failure", rejected().looks(ok).sends("Pune", "celsius", passing).sends("Pune", "C", ok), nil, []string{again}},
		{"a passing failure is repeated as it is", from().sends("Pune", "C", passing).sends("Pune", "C", ok), nil, nil},
		{"invented", rejected().sends("Pune", "celsius", ok), nil, []string{invented}},
		{"the look failed", rejected().looks(passing).sends("Pune", "celsius", ok), nil, []string{invented}},
		{"looked before it was rejected", from().looks(ok).sends("Pune", "C", no).sends("Pune", "celsius", ok), nil, []string{invented}},
		{"another action has looked", from().knows("v1").sends("Pune", "C", no).knows("v2").sends("Pune", "celsius", ok), nil, nil},
		{"the error says it", rejected().sends("Pune", "celsius", ok), func(p *Policy) { p.Correct.FromError = true }, nil},
		{"corrected twice", rejected().looks(ok).sends("Pune", "celsius", no).looks(ok).sends("Pune", "degrees", ok), nil, []string{often}},
		{"the city as well", rejected().looks(ok).sends("Poona", "celsius", ok), nil, []string{beyond}},
		{"the city as well, where anything may change", rejected().looks(ok).sends("Poona", "celsius", ok), func(p *Policy) { p.Correct.Fields = nil }, nil},
		{"the field has another name", rejected().looks(ok).as(trace.RoleAttempt, "weather", `{"city":"Pune","units":"celsius"}`, ok), func(p *Policy) { p.Correct.Fields = []string{"unit", "units"} }, nil},
		{"not declared", rejected().sends("Poona", "C", no).sends("Pune", "C", no), func(p *Policy) { p.Correct = Correct{} }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gauge(tt.change)
			var broke []string
			for _, f := range Find(&trace.Trace{Events: tt.c.events}, p.correctRules()...) {
				broke = append(broke, f.Invariant)
			}
			require.Equal(t, tt.broke, broke)
		})
	}
}

// A field inside another one is named by its path.
func TestProtectedArgumentsOfNestedFields(t *testing.T) {
	p := gauge(func(p *Policy) { p.Correct.Fields = []string{"body.unit"} })
	c := (&corrector{}).as(trace.RoleAttempt, "weather", `{"path":"/f","body":{"unit":"C","city":"Pune"}}`, trace.Invalid)
	kept := *c
	kept.events = append([]trace.Event(nil), c.events...)
	require.Empty(t, Find(&trace.Trace{Events: kept.as(trace.RoleAttempt, "weather", `{"path":"/f","body":{"city":"Pune"}}`, trace.OK).events}, ProtectedArguments(p)))
	require.Len(t, Find(&trace.Trace{Events: c.as(trace.RoleAttempt, "weather", `{"path":"/f"}`, trace.OK).events}, ProtectedArguments(p)), 1)
}

// The narrow rules count what they looked at.
func TestRulesOfCorrectingApply(t *testing.T) {
	tr := &trace.Trace{Events: (&corrector{}).sends("Pune", "C", trace.Invalid).looks(trace.OK).sends("Pune", "celsius", trace.OK).events}
	p := gauge(nil)
	require.Equal(t, map[string]int{"rejected-payload": 1, "protected-arguments": 1, "correction-grounded": 1, "corrected-once": 1}, Applied(tr, p.correctRules()...))
}

// Each tool is held to what its own policy lets be corrected.
func TestCorrectionsOfEachTool(t *testing.T) {
	strict := gauge(nil)
	strict.Tools = map[string]Policy{"mail": {ID: "mail/v1", MaxAttempts: 2, Repeatable: true}}
	mail := (&corrector{}).as(trace.RoleAttempt, "mail", `{"to":"a"}`, trace.Invalid).looks(trace.OK).as(trace.RoleAttempt, "mail", `{"to":"b"}`, trace.OK)
	found := Find(&trace.Trace{Events: mail.events}, strict.Invariants()...)
	require.NotEmpty(t, found)
	require.Equal(t, "no-retry-after-refusal", found[0].Invariant)
	guessed := (&corrector{}).sends("Pune", "C", trace.Invalid).sends("Pune", "celsius", trace.OK)
	found = Find(&trace.Trace{Events: guessed.events}, strict.Invariants()...)
	require.NotEmpty(t, found)
	require.Equal(t, "correction-grounded", found[0].Invariant)
}

func TestACorrectionIsPartOfThePolicysContent(t *testing.T) {
	p := gauge(func(p *Policy) { p.Correct.FromError = true })
	require.Contains(t, string(p.Content()), `"correct":{"fields":["unit"],"fromError":true,"once":true}`)
	var back Policy
	require.NoError(t, json.Unmarshal(p.Content(), &back))
	require.Equal(t, p, back)
}
