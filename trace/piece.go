package trace

import "context"

// A Piece is a fragment of a reply that comes as a stream: of its text, or of one
// of its calls.
type Piece struct {
	Text  string   // the next words of the text; of a piece of a call it is empty
	Index int      // which of the reply's calls Call is of, from 0
	Call  ToolCall // the first piece of a call has its id and tool; Args is the next fragment of its arguments
}

// A StreamFunc is the ordinary shape of a model whose reply comes in pieces. It
// hands each piece to yield, whose error ends the stream, and returns the whole
// reply; beside an error, what came of it.
type StreamFunc = func(ctx context.Context, shown Prompt, yield func(Piece) error) (Reply, error)

// Add joins the next piece to what has come of a reply. An index that none of the
// calls has begins the next call.
func (s *Reply) Add(p Piece) {
	s.Text += p.Text
	if p.Call == (ToolCall{}) {
		return
	}
	if p.Index < 0 || p.Index >= len(s.Calls) {
		s.Calls = append(s.Calls, p.Call)
		return
	}
	c := &s.Calls[p.Index]
	if p.Call.ID != "" {
		c.ID = p.Call.ID
	}
	if p.Call.Tool != "" {
		c.Tool = p.Call.Tool
	}
	c.Args += p.Call.Args
}

// RecordStream returns f as a model whose turns r writes down, as [RecordModel]
// does. Of a stream that breaks off, or that the program gives up, it writes down
// what had come by then.
func RecordStream(r *Recorder, name string, f StreamFunc) StreamFunc {
	return func(ctx context.Context, shown Prompt, yield func(Piece) error) (said Reply, err error) {
		p := r.Call(ctx, Call{Tool: name, Role: RoleModel, Prompt: &shown})
		var came Reply
		returned, left := false, false
		defer func() {
			if !returned {
				p.Break(Outcome{Class: Unknown}, came, errEnded)
			}
		}()
		said, err = f(ctx, shown, func(piece Piece) error {
			came.Add(piece)
			err := yield(piece)
			left = left || err != nil
			return err
		})
		switch returned = true; {
		case err == nil:
			p.Reply(said)
		case left:
			p.Break(Outcome{Class: Cancelled}, came, err)
		default:
			p.Break(r.classify(err), came, err)
		}
		return said, err
	}
}
