package trace_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var forecastPieces = []trace.Piece{
	{Text: "Let me "}, {Text: "look. "},
	{Call: trace.ToolCall{ID: "c1", Tool: "weather"}}, {Call: trace.ToolCall{Args: `{"city":`}}, {Call: trace.ToolCall{Args: `"Pune"}`}},
	{Index: 1, Call: trace.ToolCall{ID: "c2", Tool: "tides", Args: `{}`}},
	{Text: "One moment."},
}

var forecastReply = trace.Reply{
	Text: "Let me look. One moment.",
	Calls: []trace.ToolCall{
		{ID: "c1", Tool: "weather", Args: `{"city":"Pune"}`},
		{ID: "c2", Tool: "tides", Args: `{}`},
	},
}

func TestPiecesJoinToTheReply(t *testing.T) {
	var said trace.Reply
	for _, p := range forecastPieces {
		said.Add(p)
	}
	require.Equal(t, forecastReply, said)
}

func TestAPieceOfACallThatIsNotThereBeginsOne(t *testing.T) {
	var said trace.Reply
	said.Add(trace.Piece{Index: 7, Call: trace.ToolCall{Tool: "a"}})
	said.Add(trace.Piece{Index: -1, Call: trace.ToolCall{Tool: "b"}})
	require.Equal(t, []trace.ToolCall{{Tool: "a"}, {Tool: "b"}}, said.Calls)
}

// piecewise is a model that hands on the first n pieces and then returns err.
func piecewise(n int, end error) trace.StreamFunc {
	return func(_ context.Context, _ trace.Prompt, yield func(trace.Piece) error) (came trace.Reply, err error) {
		for _, p := range forecastPieces[:n] {
			came.Add(p)
			if err := yield(p); err != nil {
				return came, err
			}
		}
		return came, end
	}
}

func TestAStreamIsRecordedAsFarAsItCame(t *testing.T) {
	enough := errors.New("enough")
	for name, tc := range map[string]struct {
		model trace.StreamFunc
		takes int // pieces, before the program gives up
		class trace.Class
		args  string // of the first call
	}{
		"whole":       {piecewise(7, nil), 7, trace.OK, `{"city":"Pune"}`},
		"broken":      {piecewise(4, io.ErrUnexpectedEOF), 7, trace.Reset, `{"city":`},
		"given up":    {piecewise(7, nil), 3, trace.Cancelled, `{"city":`},
		"an own word": {piecewise(4, enough), 7, trace.Unknown, `{"city":`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Clear: true}
			taken := 0
			_, err := trace.RecordStream(r, "model", tc.model)(t.Context(), trace.Prompt{}, func(trace.Piece) error {
				if taken++; taken > tc.takes {
					return enough
				}
				return nil
			})
			require.Equal(t, tc.class != trace.OK, err != nil)
			answer := r.Trace().Events[1]
			require.Equal(t, tc.class, answer.Outcome.Class)
			require.Equal(t, tc.args, answer.Reply.Calls[0].Args)
		})
	}
}

func TestAStreamThatBreaksBeforeTheFirstPieceIsAFailure(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	_, err := trace.RecordStream(r, "model", piecewise(0, io.EOF))(t.Context(), trace.Prompt{}, nil)
	require.Equal(t, io.EOF, err)
	require.Equal(t, trace.Reset, r.Trace().Events[1].Outcome.Class)
	require.Nil(t, r.Trace().Events[1].Reply)
}

func TestAStreamWhoseReaderPanicsHasAnAnswer(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	require.Panics(t, func() {
		_, _ = trace.RecordStream(r, "model", piecewise(7, nil))(t.Context(), trace.Prompt{}, func(trace.Piece) error { panic("oops") })
	})
	require.Equal(t, trace.Unknown, r.Trace().Events[1].Outcome.Class)
	require.Equal(t, "Let me ", r.Trace().Events[1].Reply.Text)
}
