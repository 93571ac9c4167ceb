package invariants_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A saga is a trace of calls of a tool, each an action of one letter.
type saga struct {
	trace.Trace
	at    time.Duration
	calls int
}

func (s *saga) add(e trace.Event) *saga {
	s.at++
	e.At = s.at
	s.Events = append(s.Events, e)
	return s
}

func (s *saga) after(d time.Duration) *saga { s.at += d; return s }

// begin is a call with a key and the arguments a or b.
func (s *saga) begin(call, key, args string) *saga {
	return s.add(trace.Event{Kind: trace.KindBegin, Action: call, Key: key, Args: json.RawMessage(`"` + args + `"`)})
}

// asks is an attempt below that is answered; ok has the effect.
func (s *saga) asks(call string, c trace.Class) *saga {
	s.calls++
	n := s.calls
	s.add(trace.Event{Kind: trace.KindCall, Action: call, Tool: "bank", Call: n})
	if c == trace.OK {
		s.add(trace.Event{Kind: trace.KindEffect, Action: call, Tool: "bank", Call: n})
	}
	return s.add(trace.Event{Kind: trace.KindAnswer, Action: call, Tool: "bank", Call: n, Outcome: trace.Outcome{Class: c}})
}

func (s *saga) returns(call, result string) *saga {
	return s.add(trace.Event{Kind: trace.KindEnd, Action: call, Result: json.RawMessage(`"` + result + `"`)})
}

func (s *saga) fails(call, text, code string) *saga {
	return s.add(trace.Event{Kind: trace.KindEnd, Action: call, Error: text, Outcome: trace.Outcome{Code: code}})
}

// done is a call that succeeds with r1.
func (s *saga) done(call, key, args string) *saga {
	return s.begin(call, key, args).asks(call, trace.OK).returns(call, "r1")
}

func TestRepeatsFindsOnly(t *testing.T) {
	type repeats = invariants.Repeats
	keep, forget := repeats{Failures: invariants.FailuresKept}, repeats{Failures: invariants.FailuresForgotten}
	waits, refuses := repeats{AtOnce: invariants.AtOnceWaits}, repeats{AtOnce: invariants.AtOnceRefused}
	const clash, busy, keyless = invariants.CodeClash, invariants.CodeBusy, invariants.CodeKeyless
	start := func() *saga { return &saga{} }
	failed := func(c trace.Class) *saga { return start().begin("a", "k", "x").asks("a", c).fails("a", "no", "") }
	during := func() *saga { return start().begin("a", "k", "x").begin("b", "k", "x") }
	working := func(end func(*saga)) *saga { // b comes and goes while the bank is at work for a
		s := start().begin("a", "k", "x")
		s.add(trace.Event{Kind: trace.KindCall, Action: "a", Tool: "bank", Call: 1})
		s.begin("b", "k", "x")
		s.add(trace.Event{Kind: trace.KindEffect, Action: "a", Tool: "bank", Call: 1})
		s.add(trace.Event{Kind: trace.KindAnswer, Action: "a", Tool: "bank", Call: 1, Outcome: trace.Outcome{Class: trace.OK}})
		s.returns("a", "r1")
		end(s)
		return s
	}
	cancelled := func() *saga { // before it asked for anything
		s := start().begin("a", "k", "x")
		s.add(trace.Event{Kind: trace.KindCancel, Action: "a"})
		return s.fails("a", "context canceled", "")
	}
	crashed := func() *saga { // when the bank has done the work
		s := start().begin("a", "k", "x")
		s.add(trace.Event{Kind: trace.KindCall, Action: "a", Tool: "bank", Call: 1})
		s.add(trace.Event{Kind: trace.KindEffect, Action: "a", Tool: "bank", Call: 1})
		s.add(trace.Event{Kind: trace.KindCrash, Action: "a"})
		s.calls = 1
		return s.fails("a", "connection broke", "")
	}
	for name, c := range map[string]struct {
		contract repeats
		story    *saga
		found    string // the rule; empty: nothing
	}{
		"a repeat gets the result":                 {repeats{}, start().done("a", "k", "x").begin("b", "k", "x").returns("b", "r1"), ""},
		"a repeat gets another result":             {repeats{}, start().done("a", "k", "x").begin("b", "k", "x").returns("b", "r2"), "repeat-gets-the-result"},
		"a repeat is called a duplicate":           {repeats{}, start().done("a", "k", "x").begin("b", "k", "x").fails("b", "duplicate", ""), "repeat-gets-the-result"},
		"a repeat by the state is worded anew":     {repeats{By: invariants.ByState}, start().done("a", "", "x").begin("b", "", "x").returns("b", "already"), ""},
		"a repeat does the work again":             {repeats{}, start().done("a", "k", "x").done("b", "k", "x"), "repeat-has-no-effect"},
		"a repeat by the state does it again":      {repeats{By: invariants.ByState}, start().done("a", "", "x").done("b", "", "x"), "repeat-has-no-effect"},
		"work of another tool is not counted":      {repeats{Work: "ledger"}, start().done("a", "k", "x").asks("a", trace.OK), "success-has-effect"},
		"work of two effects":                      {repeats{Effects: 2}, start().begin("a", "k", "x").asks("a", trace.OK).asks("a", trace.OK).returns("a", "r1"), ""},
		"a key that was kept long enough":          {repeats{Retention: time.Hour}, start().done("a", "k", "x").after(time.Hour).done("b", "k", "x"), ""},
		"a key that was not kept long enough":      {repeats{Retention: 2 * time.Hour}, start().done("a", "k", "x").after(time.Hour).done("b", "k", "x"), "repeat-has-no-effect"},
		"F035: other arguments get the result":     {repeats{}, start().done("a", "k", "x").begin("b", "k", "y").returns("b", "r1"), "clash-is-refused"},
		"F035: other arguments do work":            {repeats{}, start().done("a", "k", "x").done("b", "k", "y"), "clash-is-refused"},
		"other arguments fail without a word":      {repeats{}, start().done("a", "k", "x").begin("b", "k", "y").fails("b", "oops", ""), "clash-is-refused"},
		"other arguments are refused":              {repeats{}, start().done("a", "k", "x").begin("b", "k", "y").fails("b", "reused", clash), ""},
		"other arguments after a failure may pass": {repeats{}, failed(trace.Throttled).done("b", "k", "y"), ""},
		"a clash with nothing":                     {repeats{}, start().done("a", "k", "x").begin("b", "k", "x").fails("b", "reused", clash), "clash-is-refused"},
		"a success without work":                   {repeats{}, start().begin("a", "k", "x").returns("a", "r1"), "success-has-effect"},
		"a decline is no work and no lie":          {repeats{}, start().begin("a", "k", "x").asks("a", trace.Declined).returns("a", "no"), ""},
		"two keys, one piece of work":              {repeats{}, start().done("a", "k", "x").begin("b", "l", "x").returns("b", "r1"), "success-has-effect"},
		"a key that a cancelled call has taken":    {repeats{}, cancelled().begin("b", "k", "y").fails("b", "reused", clash), ""},
		"a key that a cancelled call blocks":       {repeats{}, cancelled().begin("b", "k", "x").fails("b", "gone", ""), "fresh-key-works"},
		"two keys, the second refused":             {repeats{}, start().done("a", "k", "x").begin("b", "l", "x").fails("b", "duplicate", ""), "fresh-key-works"},
		"two keys, two pieces of work":             {repeats{}, start().done("a", "k", "x").done("b", "l", "x"), ""},
		"a passing failure that is kept":           {repeats{}, failed(trace.Throttled).begin("b", "k", "x").fails("b", "no", ""), "passing-failure-forgotten"},
		"a repeat that loses its key to another":   {repeats{}, failed(trace.Throttled).begin("b", "k", "x").begin("c", "k", "y").asks("c", trace.OK).returns("c", "r1").fails("b", "reused", clash), ""},
		"a refusal whose key goes to another":      {forget, failed(trace.Invalid).begin("b", "k", "x").begin("c", "k", "y").asks("c", trace.OK).returns("c", "r1").fails("b", "reused", clash), ""},
		"a passing failure that is forgotten":      {repeats{}, failed(trace.Throttled).done("b", "k", "x"), ""},
		"who waited for it does not count":         {repeats{}, during().asks("a", trace.Throttled).fails("a", "no", "").fails("b", "no", "").begin("c", "k", "x").fails("c", "no", ""), "passing-failure-forgotten"},
		"a crash with a bank that knows keys":      {repeats{Key: "key"}, crashed().begin("b", "k", "x").fails("b", "lost", ""), "passing-failure-forgotten"},
		"a crash with a bank that knows none":      {repeats{}, crashed().begin("b", "k", "x").fails("b", "lost", ""), ""},
		"a crash, and the work is done again":      {repeats{}, crashed().begin("b", "k", "x").asks("b", trace.OK).returns("b", "r1"), "repeat-has-no-effect"},
		"a crash, in progress for its lease":       {repeats{Lease: time.Minute}, crashed().begin("b", "k", "x").fails("b", "busy", busy), ""},
		"a crash, in progress for ever":            {repeats{Lease: time.Minute}, crashed().after(time.Hour).begin("b", "k", "x").fails("b", "busy", busy), "key-is-released"},
		"nobody knows, and nobody tries again":     {repeats{}, failed(trace.Reset).begin("b", "k", "x").fails("b", "unknown", ""), ""},
		"the bank knows its key, and is not asked": {repeats{Key: "key"}, failed(trace.Reset).begin("b", "k", "x").fails("b", "unknown", ""), "passing-failure-forgotten"},
		"a class that proves that nothing was":     {repeats{Undone: []trace.Class{trace.Reset}}, failed(trace.Reset).begin("b", "k", "x").fails("b", "unknown", ""), "passing-failure-forgotten"},
		"a key in progress for ever":               {repeats{}, failed(trace.Throttled).begin("b", "k", "x").fails("b", "busy", busy), "key-is-released"},
		"a key in progress for its lease":          {repeats{Lease: time.Minute}, failed(trace.Throttled).begin("b", "k", "x").fails("b", "busy", busy), ""},
		"a key in progress after its lease":        {repeats{Lease: time.Minute}, failed(trace.Throttled).after(time.Hour).begin("b", "k", "x").fails("b", "busy", busy), "key-is-released"},
		"at once, one waits":                       {waits, during().asks("a", trace.OK).returns("a", "r1").returns("b", "r1"), ""},
		"at once, one is refused":                  {refuses, during().fails("b", "busy", busy).asks("a", trace.OK).returns("a", "r1"), ""},
		"at once, either will do":                  {repeats{}, during().fails("b", "busy", busy).asks("a", trace.OK).returns("a", "r1"), ""},
		"at once, refused against the word":        {waits, during().fails("b", "busy", busy).asks("a", trace.OK).returns("a", "r1"), "at-once-as-declared"},
		"at once, waited against the word":         {refuses, working(func(s *saga) { s.returns("b", "r1") }), "at-once-as-declared"},
		"at once, waited by the word":              {waits, working(func(s *saga) { s.returns("b", "r1") }), ""},
		"at once, an error that says nothing":      {repeats{}, during().fails("b", "sql", "").asks("a", trace.OK).returns("a", "r1"), "at-once-as-declared"},
		"a refusal that is kept":                   {keep, failed(trace.Invalid).begin("b", "k", "x").fails("b", "no", ""), ""},
		"a refusal that is asked for again":        {keep, failed(trace.Invalid).begin("b", "k", "x").asks("b", trace.Invalid).fails("b", "no", ""), "definite-failure-as-declared"},
		"a refusal that is tried anew":             {forget, failed(trace.Invalid).done("b", "k", "x"), ""},
		"a refusal that is not tried anew":         {forget, failed(trace.Invalid).begin("b", "k", "x").fails("b", "no", ""), "passing-failure-forgotten"},
		"a refusal, and nothing is declared":       {repeats{}, failed(trace.Invalid).begin("b", "k", "x").fails("b", "no", ""), ""},
		"no key, and nothing is declared":          {repeats{}, start().begin("a", "", "x").returns("a", "r1"), ""},
		"no key is refused":                        {repeats{Keyless: invariants.KeylessRefused}, start().begin("a", "", "x").fails("a", "key", keyless), ""},
		"no key is not refused":                    {repeats{Keyless: invariants.KeylessRefused}, start().done("a", "", "x"), "keyless-as-declared"},
		"no key is refused without a word":         {repeats{Keyless: invariants.KeylessRefused}, start().begin("a", "", "x").fails("a", "oops", ""), "keyless-as-declared"},
		"no key is work each time":                 {repeats{Keyless: invariants.KeylessRuns}, start().done("a", "", "x").done("b", "", "x"), ""},
		"no key is a key":                          {repeats{Keyless: invariants.KeylessRuns}, start().done("a", "", "x").begin("b", "", "x").returns("b", "r1"), "keyless-as-declared"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.contract.Validate())
			found := invariants.Find(&c.story.Trace, c.contract.Invariants()...)
			if c.found == "" {
				require.Empty(t, found, "%v", found)
				return
			}
			require.NotEmpty(t, found)
			require.Equal(t, c.found, found[0].Invariant, "%v", found)
			require.NotEmpty(t, found[0].Events)
			require.NotEmpty(t, found[0].Advice)
		})
	}
}

// Whose caller has left is not held to an answer.
func TestRepeatWhoseCallerLeftNeedNoAnswer(t *testing.T) {
	s := new(saga).done("a", "k", "x").begin("b", "k", "x")
	s.add(trace.Event{Kind: trace.KindCancel, Action: "b"})
	s.fails("b", "context canceled", "")
	require.Empty(t, invariants.Find(&s.Trace, invariants.Repeats{}.Invariants()...))
}

// Where work belongs to no call, it cannot be told which success has none.
func TestWorkOfNobodyIsNotHeldAgainstASuccess(t *testing.T) {
	s := new(saga).begin("a", "k", "x")
	s.add(trace.Event{Kind: trace.KindEffect, Tool: "bank", Ambiguous: true})
	s.returns("a", "r1")
	require.Empty(t, invariants.Find(&s.Trace, invariants.Repeats{}.Invariants()...))
}

func TestRepeatsThatCannotHold(t *testing.T) {
	for field, r := range map[string]invariants.Repeats{
		"By":        {By: "guess"},
		"AtOnce":    {AtOnce: "hope"},
		"Failures":  {Failures: "hide"},
		"Keyless":   {Keyless: invariants.KeylessRuns, By: invariants.ByState},
		"Retention": {Retention: time.Hour, By: invariants.ByState},
		"Lease":     {Lease: -1},
		"Effects":   {Effects: -1},
		"Undone":    {Undone: []trace.Class{trace.OK}},
	} {
		err := r.Validate()
		require.Error(t, err, field)
		require.Contains(t, err.Error(), "repeats: "+field+": ")
	}
}

func TestContentOfRepeats(t *testing.T) {
	r := invariants.Repeats{ID: "refund/v1", AtOnce: invariants.AtOnceWaits, Retention: 24 * time.Hour, Undone: []trace.Class{trace.Transient}}
	require.JSONEq(t, `{"id":"refund/v1","atOnce":"wait","retention":"24h0m0s","undone":["transient"]}`, string(r.Content()))
	require.JSONEq(t, `{}`, string((&invariants.Repeats{}).Content()))
}
