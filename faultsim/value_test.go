package faultsim

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// valuing plugs in a tool that answers some classes with a value, and an
// action that calls it until it gets no error.
func valuing(errs Errors, read func(int) error) Adapter {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, errs)
		return func(ctx context.Context) (any, error) {
			l := loop{attempts: 3, tool: func(ctx context.Context, city string) (int, error) {
				out, err := tool(ctx, city)
				if err == nil {
					err = read(out)
				}
				return out, err
			}}
			return l.run(ctx, "Pune")
		}
	}
	return a
}

func anyInt(int) error { return nil }

func TestADeclineAnsweredAsAValueIsAValidAnswer(t *testing.T) {
	a := valuing(Errors{trace.Transient: errBusy, trace.Declined: Value(-1)}, anyInt)
	r := Trial(t, a, One(Fail(trace.Transient), Fail(trace.Declined)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	act := r.Trace.Actions()[0]
	require.Equal(t, "-1", string(act.Result))
	require.Equal(t, trace.ReasonDeclined, a.Policy.Terminal(&act))
}

func TestAMalformedOrPartialValueIsNoEvidence(t *testing.T) {
	for _, c := range []trace.Class{trace.Malformed, trace.Partial} {
		r := Trial(t, valuing(Errors{c: Value(0)}, anyInt), One(Fail(c)))
		require.NoError(t, r.Err)
		require.Equal(t, "honest-ending", r.Findings[0].Invariant)
	}
}

// The caller words the failure in its own way, since it got no error: that it
// keeps none is not held against it.
func TestAFailureReadOffAValueMayBeWordedFreely(t *testing.T) {
	read := func(n int) error {
		if n == 0 {
			return errForbidden
		}
		return nil
	}
	a := valuing(Errors{trace.Transient: errBusy, trace.Malformed: Value(0)}, read)
	r := Trial(t, a, One(Fail(trace.Transient), Fail(trace.Malformed)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
}

func TestAValueIsCopiedForEachAnswer(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		tool := Tool[string, []int](s, "weather", nil, Errors{trace.Declined: Value([]int{1})})
		return func(ctx context.Context) (any, error) {
			out, err := tool(ctx, "Pune")
			out[0]++
			return out, err
		}
	}
	for range 2 {
		r := Trial(t, a, One(Fail(trace.Declined)))
		require.Equal(t, "[2]", string(r.Trace.Actions()[0].Result))
	}
}

func TestAValueOfTheWrongTypeIsOneClearError(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{"no", "faultsim: weather answers declined with a Value of type string, and the tool's answer is int: give Value that type"},
		{nil, "faultsim: weather answers declined with a Value of type <nil>, and the tool's answer is int: give Value that type"},
	} {
		a := valuing(Errors{trace.Declined: Value(c.v)}, anyInt)
		require.EqualError(t, Trial(t, a, One()).Err, c.want)
		_, err := Explore(t, a)
		require.EqualError(t, err, c.want)
	}
}

func TestANilValueFitsWhatCanBeNil(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		tool := Tool[string, error](s, "weather", nil, Errors{trace.Declined: Value(nil), trace.Malformed: Value(errors.New("odd"))})
		return func(ctx context.Context) (any, error) { out, err := tool(ctx, "Pune"); return out, err }
	}
	require.NoError(t, Trial(t, a, One(Fail(trace.Declined))).Err)
}
