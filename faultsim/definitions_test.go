package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var errUnit = errors.New("no such unit")

type measure struct{ City, Unit string }

// measuring plugs in an action that sends the units, each after a look at the
// definition where it is "", and takes what comes.
func measuring(units ...string) Adapter {
	a := homeAdapter()
	a.Policy.Correct = invariants.Correct{Once: true}
	a.Subject = func(s *Stage) Action {
		look := s.Definitions("weather", "C", "celsius").Aside("tools/list")
		tool := Tool[measure, int](s, "weather", nil, Errors{trace.Transient: errBusy, trace.Invalid: errUnit})
		return func(ctx context.Context) (any, error) {
			for _, unit := range units {
				if unit == "" {
					d, _ := look(ctx)
					unit = d.Text
				}
				_, _ = tool(ctx, measure{"Pune", unit})
			}
			return nil, nil
		}
	}
	return a
}

func TestASchemaMovesOn(t *testing.T) {
	no := trace.Outcome{Class: trace.Invalid}
	moved := One(Fail(trace.Invalid))
	told := func(a Adapter) Adapter { a.Policy.Correct.FromError = true; return a }
	for _, tt := range []struct {
		name string
		a    Adapter
		s    Schedule
		want []trace.Outcome
	}{
		{"it stays until then", measuring("C", "F"), Schedule{}, []trace.Outcome{up, up}},
		{"what was rejected stays so", measuring("C", "C", ""), moved, []trace.Outcome{no, no, up}},
		{"also when the definition was read", measuring("C", "", "C"), moved, []trace.Outcome{no, up, no}},
		{"a guess is rejected", measuring("C", "celsius", ""), moved, []trace.Outcome{no, no, no}},
		{"and taken where the error says what to send", told(measuring("C", "celsius", "C")), moved, []trace.Outcome{no, up, no}},
		{"it moves on again", measuring("C", "", "F"), One(Fail(trace.Invalid), Fail(trace.Invalid)), []trace.Outcome{no, no, no}},
		{"a tool that is down looks at nothing", measuring("C", "C"), Schedule{Actions: moved.Actions, Outages: []Outage{{Main, 0, 1, trace.Transient}}}, []trace.Outcome{down, down}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, seen(t, tt.a, tt.s))
		})
	}
}

// The version that the program has is on record with each call.
func TestTheVersionIsRecordedWithTheCall(t *testing.T) {
	require.Equal(t, []string{"v1", "v1", "v2"}, versionsSeen(t, measuring("C", "C", ""), One(Fail(trace.Invalid))))
}

// A schema stays while the tool is down, also where the answers look alike.
func TestASchemaStaysWhileTheToolIsDown(t *testing.T) {
	s := One(Fail(trace.Invalid))
	s.Outages = []Outage{{Main, 0, 1, trace.Invalid}}
	require.Equal(t, []string{"v1", "v1"}, versionsSeen(t, measuring("C", ""), s))
}

func versionsSeen(t *testing.T, a Adapter, s Schedule) (list []string) {
	t.Helper()
	r := Trial(t, a, s)
	require.NoError(t, r.Err)
	for at := range r.Trace.Attempts() {
		list = append(list, at.Definition)
	}
	return list
}

func TestDefinitionsOverHTTP(t *testing.T) {
	a := homeAdapter()
	var read Definition
	a.Policy.Correct = invariants.Correct{Once: true}
	a.Subject = func(s *Stage) Action {
		client := s.Client(
			Route{Tool: "weather", Path: "/v1/forecast"},
			Route{Tool: "catalogue", Path: "/tools", Role: trace.RoleDefinitions, Answer: s.Definitions("weather", "C", "celsius")},
		)
		return func(ctx context.Context) (any, error) {
			for _, url := range []string{"/v1/forecast?unit=C", "/tools", "/v1/forecast?unit=celsius"} {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://weather.example"+url, nil)
				resp, err := client.Do(req)
				if err != nil {
					return nil, err
				}
				if url == "/tools" {
					err = json.NewDecoder(resp.Body).Decode(&read)
				}
				if err := errors.Join(err, resp.Body.Close()); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}
	}
	require.Equal(t, []trace.Outcome{{Class: trace.Invalid}, up}, seen(t, a, One(Fail(trace.Invalid))))
	require.Equal(t, Definition{"v2", "celsius"}, read)
}

func TestDefinitionsThatCannotBeAreNamed(t *testing.T) {
	for want, build := range map[string]func(*Stage){
		`Stage.Definitions speaks of tool "wether"`:     func(s *Stage) { s.Definitions("wether", "C") },
		`Stage.Definitions of "weather" has no text`:    func(s *Stage) { s.Definitions("weather") },
		`Stage.Definitions of "weather" was called twi`: func(s *Stage) { s.Definitions("weather", "C"); s.Definitions("weather", "C") },
	} {
		a := homeAdapter()
		inner := a.Subject
		a.Subject = func(s *Stage) Action { build(s); return inner(s) }
		require.ErrorContains(t, Trial(t, a, Schedule{}).Err, want)
	}
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		tool := Tool[measure, int](s, "weather", nil, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) { s.Definitions("weather", "C"); return tool(ctx, measure{}) }
	}
	require.ErrorContains(t, Trial(t, a, Schedule{}).Err, "do that in Subject")
}

func TestExpectedCorrections(t *testing.T) {
	p := homePolicy()
	p.Correct = invariants.Correct{Once: true}
	no, busy := Fail(trace.Invalid), Fail(trace.Transient)
	success, needs := trace.ReasonSuccess, trace.ReasonNeedsInput
	for _, tt := range []struct {
		name   string
		faults []Fault
		want   Expectation
	}{
		{"a correction or the end", []Fault{no}, Expectation{1, 2, []trace.Reason{success, needs}}},
		{"one correction", []Fault{no, no}, Expectation{1, 2, []trace.Reason{needs}}},
		{"a failure behind it", []Fault{no, busy}, Expectation{1, 3, []trace.Reason{success, needs}}},
	} {
		e, ok := ExpectFirst(p, One(tt.faults...))
		require.True(t, ok)
		require.Equal(t, tt.want, e, tt.name)
	}
}

// Schemas that move on, also twice, are drawn for adapters with definitions.
func TestSchemasThatMoveOnAreDrawn(t *testing.T) {
	a := measuring()
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	var once, twice int
	for i := range 500 {
		for _, p := range gen.Example(i).Actions {
			faults := p.Faults["weather"]
			for n := range faults {
				if faults[n].Class == trace.Invalid {
					once++
					if n > 0 && faults[n-1].Class == trace.Invalid {
						twice++
					}
				}
			}
		}
	}
	require.Greater(t, once, 200)
	require.Greater(t, twice, 50)
}
