package double_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var lookAndAsk = trace.Reply{
	Text:  "Let me look.",
	Calls: []trace.ToolCall{{ID: "c1", Tool: "weather", Args: `{"city":"Pune"}`}},
}

func TestAReplyComesInWordsAndHalves(t *testing.T) {
	require.Equal(t, []trace.Piece{
		{Text: "Let "}, {Text: "me "}, {Text: "look."},
		{Call: trace.ToolCall{ID: "c1", Tool: "weather"}},
		{Call: trace.ToolCall{Args: `{"city"`}}, {Call: trace.ToolCall{Args: `:"Pune"}`}},
	}, double.ReplyPieces(lookAndAsk))
	require.Len(t, double.CallPieces(0, trace.ToolCall{Tool: "now"}), 1)
	require.Equal(t, "ü", double.CallPieces(0, trace.ToolCall{Args: "ü"})[1].Call.Args, "a letter stays whole")
}

func TestPiecesAreTheReply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := trace.Reply{Text: text.Draw(t, "text")}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			want.Calls = append(want.Calls, trace.ToolCall{
				ID: text.Draw(t, "id"), Tool: "t" + text.Draw(t, "tool"), Args: text.Draw(t, "args"),
			})
		}
		var got trace.Reply
		for _, p := range double.ReplyPieces(want) {
			got.Add(p)
		}
		require.Equal(t, want, got)
	})
}

func TestAStreamEndsAsItIsPlanned(t *testing.T) {
	enough := errors.New("enough")
	for name, tc := range map[string]struct {
		stream double.Stream
		limit  time.Duration
		takes  int
		class  trace.Class
		err    error
		pieces int
		after  time.Duration
	}{
		"whole":            {double.Stream{}, time.Minute, 9, trace.OK, nil, 6, 0},
		"slowly":           {double.Stream{Pace: time.Second}, time.Minute, 9, trace.OK, nil, 6, 5 * time.Second},
		"too slowly":       {double.Stream{Pace: time.Second}, 1500 * time.Millisecond, 9, trace.Timeout, context.DeadlineExceeded, 2, 1500 * time.Millisecond},
		"deaf":             {double.Stream{Pace: time.Second, Deaf: true}, 1500 * time.Millisecond, 9, trace.OK, nil, 6, 5 * time.Second},
		"broken":           {double.Stream{Pace: time.Second, Break: true, After: 4}, time.Minute, 9, trace.Reset, io.ErrUnexpectedEOF, 4, 3 * time.Second},
		"broken at once":   {double.Stream{Break: true}, time.Minute, 9, trace.Reset, io.ErrUnexpectedEOF, 0, 0},
		"broken at no one": {double.Stream{Break: true, After: 99}, time.Minute, 9, trace.Reset, io.ErrUnexpectedEOF, 6, 0},
		"stalled":          {double.Stream{Stall: true, After: 4}, time.Minute, 9, trace.Timeout, context.DeadlineExceeded, 4, time.Minute},
		"given up":         {double.Stream{Pace: time.Second}, time.Minute, 2, trace.Cancelled, enough, 3, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
				defer cancel()
				rec, p := call(ctx)
				var came trace.Reply
				var pieces []trace.Piece
				begin := time.Now()
				class, err := tc.stream.Play(ctx, nil, p, double.ReplyPieces(lookAndAsk), func(piece trace.Piece) error {
					if pieces = append(pieces, piece); len(pieces) > tc.takes {
						return enough
					}
					return nil
				}, &came)
				require.Equal(t, tc.class, class)
				require.Equal(t, tc.err, err)
				require.Len(t, pieces, tc.pieces)
				require.Equal(t, tc.after, time.Since(begin))
				var joined trace.Reply
				for _, p := range pieces {
					joined.Add(p)
				}
				require.Equal(t, joined, came)
				interrupts := 0
				for _, e := range rec.Trace().Events {
					if e.Kind == trace.KindInterrupt {
						interrupts++
					}
				}
				require.Equal(t, name == "deaf", interrupts == 1)
			})
		})
	}
}
