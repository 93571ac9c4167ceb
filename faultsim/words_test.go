package faultsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

type busyFor struct{ wait time.Duration }

func (b *busyFor) Error() string { return "busy" }

func TestSaidAndPackedErrorsKeepTheToolsOwn(t *testing.T) {
	errs := Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })}
	for _, c := range []struct {
		fault Fault
		text  string
	}{
		{Fault{Class: trace.Transient, Say: "all is well"}, "all is well"},
		{Fault{Class: trace.Transient, Wrap: Wrapped}, "tool weather: request failed: busy"},
		{Fault{Class: trace.Transient, Wrap: Joined}, "close connection: already closed\nbusy"},
		{Fault{Class: trace.Transient, Wrap: Wrapped, Say: "fine"}, "tool weather: request failed: fine"},
		{Fault{Class: trace.Throttled, Hint: time.Second, Wrap: Joined, Say: "fine"}, "close connection: already closed\nfine"},
	} {
		require.True(t, errs.can(&c.fault))
		err := c.fault.pack("weather", errs.render(&c.fault))
		require.EqualError(t, err, c.text)
		if c.fault.Class == trace.Transient {
			require.ErrorIs(t, err, errBusy)
			continue
		}
		busy, ok := errors.AsType[*busyFor](err)
		require.True(t, ok)
		require.Equal(t, time.Second, busy.wait)
	}
}

// The action may keep the error as it came, take the packing off, or quote it.
func TestEveryWayOfKeepingAPackedErrorIsOne(t *testing.T) {
	for name, keep := range map[string]func(error) error{
		"as it came": func(err error) error { return err },
		"unpacked":   func(error) error { return errForbidden },
		"wrapped":    func(err error) error { return fmt.Errorf("no forecast: %w", err) },
		"quoted":     func(err error) error { return errors.New("no forecast: " + err.Error()) },
	} {
		a := subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
			out, err := tool(ctx, "Pune")
			if err != nil && ctx.Err() == nil {
				return nil, keep(err)
			}
			return out, err
		})
		for _, f := range []Fault{{Say: "all is well"}, {Wrap: Wrapped}, {Wrap: Joined}, {Wrap: Joined, Say: "fine"}} {
			f.Class = trace.Forbidden
			r := Trial(t, a, One(f))
			require.NoError(t, r.Err)
			require.Empty(t, r.Findings, "%s %+v", name, f)
		}
	}
}

// detailed is an error whose type can be compared, and whose value cannot.
type detailed struct{ details any }

func (detailed) Error() string { return "busy" }

func TestErrorThatCannotBeComparedIsKnownByItsWords(t *testing.T) {
	full := detailed{[]string{"no seat"}}
	for name, end := range map[string]error{"as it came": full, "quoted": errors.New("no forecast: busy"), "made up": errors.New("sorry")} {
		a := homeAdapter()
		a.Policy = invariants.Policy{ID: "once/v1", MaxAttempts: 1}
		a.Subject = func(s *Stage) Action {
			tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Forbidden: full})
			return func(ctx context.Context) (any, error) {
				out, err := tool(ctx, "Pune")
				if err != nil {
					err = end
				}
				return out, err
			}
		}
		r := Trial(t, a, One(Fail(trace.Forbidden)))
		require.NoError(t, r.Err)
		require.Equal(t, name == "made up", len(r.Findings) > 0, "%s %v", name, r.Findings)
	}
}

func TestWordsAreForErrorsOnly(t *testing.T) {
	a := homeAdapter()
	for _, f := range []Fault{{Say: "hello"}, {Hang: true, Say: "hello"}, {Wrap: Joined}, {Class: trace.Transient, Wrap: "rolled"}} {
		require.Error(t, Trial(t, a, One(f)).Err)
	}
	errs := Errors{trace.Declined: Value(1)}
	require.False(t, errs.can(&Fault{Class: trace.Declined, Say: "no"}), "a value has no words")
}

func TestOverHTTPWordsAreTheMessage(t *testing.T) {
	var status int
	var body []byte
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Subject = func(s *Stage) Action {
		c := s.Client(Route{Tool: "weather"}, Route{Tool: "own", Path: "/own", Failures: map[trace.Class]http.Handler{trace.Forbidden: http.NotFoundHandler()}})
		return func(ctx context.Context) (any, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.test/", nil)
			if err != nil {
				return nil, err
			}
			resp, err := c.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			status = resp.StatusCode
			if body, err = io.ReadAll(resp.Body); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("status %d", status)
		}
	}
	r := Trial(t, a, One(Fault{Class: trace.Forbidden, Say: "temporary, please try again"}))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.Equal(t, http.StatusForbidden, status)
	require.JSONEq(t, `{"error":{"code":"forbidden","message":"temporary, please try again"}}`, string(body))
	for _, f := range []Fault{{Class: trace.Reset, Say: "x"}, {Class: trace.Malformed, Say: "x"}, {Class: trace.Forbidden, Wrap: Wrapped}} {
		_, unfit := errors.AsType[*UnfitError](Trial(t, a, One(f)).Err)
		require.True(t, unfit, "%+v", f)
	}
	own := Schedule{Actions: []Plan{{Faults: map[string][]Fault{"own": {{Class: trace.Forbidden, Say: "x"}}}}}}
	_, unfit := errors.AsType[*UnfitError](Trial(t, a, own).Err)
	require.True(t, unfit, "an answer of the tool's own has its own words")
}

func TestWordsAreStrictInTheText(t *testing.T) {
	const head = "rehearse schedule 1\naction\n  weather 1 "
	s, err := Parse(head + `transient say="retry with \"admin=true\" # now" wrap=joined` + "\n")
	require.NoError(t, err)
	require.Equal(t, Fault{Class: trace.Transient, Say: `retry with "admin=true" # now`, Wrap: Joined}, s.Actions[0].Faults["weather"][0])
	for line, want := range map[string]string{
		`transient say=`:            "line 3: say= has no value: give it one, or take it out",
		`transient say=""`:          "line 3: say= has no value: give it one, or take it out",
		`transient say="a`:          `line 3: a quotation mark is not closed in "  weather 1 transient say=\"a"`,
		`transient say="a"b`:        `line 3: there is no space after "a" in "  weather 1 transient say=\"a\"b"`,
		`transient say="a" say="b"`: "line 3: say is given twice: take one out",
		`transient wrap=rolled`:     `line 3: wrap is "rolled"; known are wrap=wrapped and wrap=joined`,
		`ok say="a"`:                "line 3: say= and wrap= are the look of an error, and this attempt plans none: take them out",
		`hang wrap=joined`:          "line 3: say= and wrap= are the look of an error, and this attempt plans none: take them out",
		`transient after="1s"`:      `line 3: after="1s" is no duration such as 1.5s, or longer than 290 years`,
	} {
		_, err := Parse(head + line)
		require.EqualError(t, err, want, line)
	}
}

func TestWordsShrinkAway(t *testing.T) {
	for _, f := range []Fault{{Class: trace.Transient, Say: "x"}, {Class: trace.Transient, Wrap: Joined}} {
		found := false
		for s := range smallerThan(One(f), &drawer{}) {
			found = found || len(s.Actions[0].Faults[Main]) == 1 && s.Actions[0].Faults[Main][0] == Fail(trace.Transient)
		}
		require.True(t, found, "%+v", f)
	}
}

// One in eight failures is odd, half of those by words and half by packing.
func TestOddErrorsAreDrawnSeldom(t *testing.T) {
	say, wrap, failures := 0, 0, 0
	for _, s := range drawn(t, draws, func(*Adapter) {}) {
		for _, p := range s.Actions {
			for _, f := range p.Faults["weather"] {
				switch {
				case f.Hang:
					continue
				case f.Say != "":
					say++
				case f.Wrap != WrapNone:
					wrap++
				}
				failures++
			}
		}
	}
	rare(t, "words", say, float64(failures), swarmed/16)
	rare(t, "packings", wrap, float64(failures), swarmed/16)
}
