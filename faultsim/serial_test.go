package faultsim

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// inQueue plays calls that begin 3 ns apart and take the latencies, and lists
// when each was answered, to the millisecond.
func inQueue(t *testing.T, a Adapter, s Schedule, latencies ...time.Duration) (classes []trace.Class, at []time.Duration) {
	t.Helper()
	s.AtOnce = true
	for _, l := range latencies {
		s.Actions = append(s.Actions, Plan{Faults: map[string][]Fault{Main: {{Latency: l}}}})
	}
	r := Trial(t, a, s)
	require.NoError(t, r.Err)
	for at1 := range r.Trace.Attempts() {
		classes, at = append(classes, at1.Outcome.Class), append(at, at1.End.Truncate(time.Millisecond))
	}
	return classes, at
}

// calling calls the tool once, under a limit; deaf: the tool is not told of it.
func calling(limit time.Duration, deaf bool) Adapter {
	return subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
		inner, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if !deaf {
			return tool(inner, "Pune")
		}
		type answer struct {
			out int
			err error
		}
		answers := make(chan answer, 1)
		go func() {
			out, err := tool(context.WithoutCancel(ctx), "Pune")
			answers <- answer{out, err}
		}()
		select {
		case a := <-answers:
			return a.out, a.err
		case <-inner.Done():
			return 0, inner.Err()
		}
	})
}

func TestASerialToolServesInTheOrderOfArrival(t *testing.T) {
	const second = time.Second
	ok, late := trace.OK, trace.Timeout
	classes, at := inQueue(t, calling(time.Minute, false), Schedule{Serial: []string{"weather"}}, second, 2*second, 3*second)
	require.Equal(t, []trace.Class{ok, ok, ok}, classes)
	require.Equal(t, []time.Duration{second, 3 * second, 6 * second}, at)

	// Who is not serial serves all at once.
	_, at = inQueue(t, calling(time.Minute, false), Schedule{}, second, 2*second, 3*second)
	require.Equal(t, []time.Duration{second, 2 * second, 3 * second}, at)

	// Field case F030: the call that was given up leaves, and the next is inQueue.
	classes, at = inQueue(t, calling(4*second, false), Schedule{Serial: []string{Main}}, 8*second, 5*second, 2*second)
	require.Equal(t, []trace.Class{late, late, late}, classes, "all wait for the first")
	require.Equal(t, []time.Duration{4 * second, 4 * second, 4 * second}, at)
}

// Field case F030: a call that nobody cancels keeps its place, and the calls of
// later actions wait behind it.
func TestAnOrphanHoldsUpASerialTool(t *testing.T) {
	for deaf, last := range map[bool]time.Duration{false: 125 * time.Second, true: 485 * time.Second} {
		s := Schedule{Serial: []string{Main}, Actions: []Plan{
			{Faults: map[string][]Fault{Main: {{Latency: 480 * time.Second}}}},
			{Faults: map[string][]Fault{Main: {{Latency: 5 * time.Second}}}},
		}}
		r := Trial(t, calling(120*time.Second, deaf), s)
		require.NoError(t, r.Err)
		actions := r.Trace.Actions()
		second := actions[1].Attempts[0]
		require.Equal(t, last, second.Answered.Truncate(time.Millisecond))
		require.Equal(t, deaf, actions[1].Error != "", "the second action fails because of the first")
	}
}

// A call that leaves the queue has had no effect, and frees no place.
func TestWhoLeavesTheQueueIsNotServed(t *testing.T) {
	s := Schedule{Serial: []string{Main}, AtOnce: true, Actions: []Plan{
		{Faults: map[string][]Fault{Main: {{Latency: 3 * time.Second}}}},
		{Faults: map[string][]Fault{Main: {{Latency: time.Second, Done: true}}}, Cancel: time.Second + 5},
		{Faults: map[string][]Fault{Main: {{Latency: time.Second}}}},
	}}
	r := Trial(t, calling(time.Minute, false), s)
	require.NoError(t, r.Err)
	actions := r.Trace.Actions()
	require.Empty(t, actions[1].Effects)
	require.Equal(t, trace.Cancelled, actions[1].Attempts[0].Outcome.Class)
	require.Equal(t, 4*time.Second, actions[2].Attempts[0].Answered.Truncate(time.Millisecond))
}

func TestHTTPAndBatchesAreServedInTurnToo(t *testing.T) {
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Subject = func(s *Stage) Action {
		c := s.Client(Route{Tool: "weather"})
		return func(ctx context.Context) (any, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://weather.example/", nil)
			if err != nil {
				return nil, err
			}
			resp, err := c.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			return io.ReadAll(resp.Body)
		}
	}
	_, at := inQueue(t, a, Schedule{Serial: []string{Main}}, time.Second, time.Second)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second}, at)

	a.Subject = func(s *Stage) Action {
		put := Batch[string, int](s, "weather", func(id string) string { return id }, nil, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) { return put(ctx, []string{"a"}) }
	}
	_, at = inQueue(t, a, Schedule{Serial: []string{Main}}, time.Second, time.Second)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second}, at)
}

func TestSerialReadsBackAndShrinks(t *testing.T) {
	s := Schedule{Actions: make([]Plan, 1), Serial: []string{"a b", Main}}
	back, err := Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
	for _, line := range []string{"serial", "serial a b", "serial a\nserial a"} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.Error(t, err, line)
	}
	gone := false
	for c := range smallerThan(s, &drawer{}) {
		gone = gone || len(c.Serial) == 1
	}
	require.True(t, gone)
	require.ErrorContains(t, Trial(t, homeAdapter(), Schedule{Serial: []string{"other"}}).Err, `the schedule speaks of tool "other"`)
}

func TestSerialIsDrawnForActionsAtOnce(t *testing.T) {
	serial, atOnce := 0, 0
	for _, s := range drawn(t, 4000, func(*Adapter) {}) {
		if s.AtOnce {
			atOnce++
		}
		if len(s.Serial) > 0 {
			serial++
			require.True(t, s.AtOnce)
		}
	}
	rare(t, "serial", serial, float64(atOnce), 0.5)
}
