package double

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
)

// TextPieces is a text as a stream of words, each with the white space behind it.
func TextPieces(text string) (list []trace.Piece) {
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" {
			list = append(list, trace.Piece{Text: word})
		}
	}
	return list
}

// CallPieces is a call as a stream: its id and tool, and its arguments in two
// halves. Empty arguments have no piece.
func CallPieces(index int, c trace.ToolCall) []trace.Piece {
	list := []trace.Piece{{Index: index, Call: trace.ToolCall{ID: c.ID, Tool: c.Tool}}}
	half := len(c.Args) / 2
	for half > 0 && !utf8.RuneStart(c.Args[half]) {
		half--
	}
	for _, part := range []string{c.Args[:half], c.Args[half:]} {
		if part != "" {
			list = append(list, trace.Piece{Index: index, Call: trace.ToolCall{Args: part}})
		}
	}
	return list
}

// ReplyPieces is a reply as a stream: its text before its calls.
func ReplyPieces(said trace.Reply) []trace.Piece {
	list := TextPieces(said.Text)
	for i, c := range said.Calls {
		list = append(list, CallPieces(i, c)...)
	}
	return list
}

// A Stream is how a reply comes in pieces. The zero value is all of it at once.
type Stream struct {
	Pace  time.Duration // between two pieces; 0: none
	Break bool          // the connection breaks behind After pieces
	Stall bool          // nothing comes behind After pieces before the context ends
	After int           // of Break and Stall; no more than there are
	Deaf  bool          // the end of the context changes nothing; with Stall it never ends
}

// Play hands the pieces to yield, joins to came what has been handed on, and
// returns how the stream ended: class ok, or what it reads as, with its error.
// What ends before its last piece ends with the error of ctx, of yield (of class
// cancelled: the program gave it up), or [io.ErrUnexpectedEOF] (of class reset).
func (s Stream) Play(ctx context.Context, c clock.Clock, p trace.Pending, pieces []trace.Piece, yield func(trace.Piece) error, came *trace.Reply) (trace.Class, error) {
	if s.Break || s.Stall {
		pieces = pieces[:min(max(s.After, 0), len(pieces))]
	}
	for i, piece := range pieces {
		pace := Timing{Deaf: s.Deaf}
		if i > 0 {
			pace.Latency = s.Pace
		}
		if class := pace.Play(ctx, c, p); class != 0 {
			return class, ctx.Err()
		}
		if s.Deaf && ctx.Err() != nil {
			ctx = context.WithoutCancel(ctx) // its end is written down once
		}
		came.Add(piece)
		if err := yield(piece); err != nil {
			return trace.Cancelled, err
		}
	}
	switch {
	case s.Break:
		return trace.Reset, io.ErrUnexpectedEOF
	case s.Stall:
		class := Timing{Hang: true, Deaf: s.Deaf}.Play(ctx, c, p)
		return class, ctx.Err()
	}
	return trace.OK, nil
}
