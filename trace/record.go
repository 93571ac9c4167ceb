package trace

import (
	"context"
	"encoding/json"
	"fmt"
)

// Func is the ordinary shape of a tool.
type Func[In, Out any] = func(context.Context, In) (Out, error)

// Record returns f as a tool whose calls r writes down. It changes neither
// arguments nor answers. The arguments are copied when they arrive.
func Record[In, Out any](r *Recorder, tool string, f Func[In, Out]) Func[In, Out] {
	return func(ctx context.Context, in In) (Out, error) {
		p := r.Call(ctx, Call{Tool: tool, Args: Marshal(in)})
		out, err := f(ctx, in)
		p.Answer(r.classify(err), resultOf(out, err), err)
		return out, err
	}
}

// Do runs f as one action and writes down its begin, its end and a cancel of
// ctx in between. The context that f receives carries the action.
func Do[Out any](ctx context.Context, r *Recorder, name string, f func(context.Context) (Out, error)) (Out, error) {
	ctx, op := r.Begin(ctx, name)
	stop := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled {
			op.Cancel()
		}
	})
	out, err := f(ctx)
	stop()
	e := Ending{Result: resultOf(out, err), Err: err}
	if err == nil {
		e.Reason = ReasonSuccess
	}
	op.End(e)
	return out, err
}

func (r *Recorder) classify(err error) Outcome {
	if r.Classify != nil {
		return r.Classify(err)
	}
	return Classify(err)
}

func resultOf[Out any](out Out, err error) json.RawMessage {
	if err != nil {
		return nil
	}
	return Marshal(out)
}

// Marshal is a value as JSON; where encoding/json cannot write it, its %+v as
// a JSON string, so that nothing that happened is left out of a trace.
func Marshal(value any) json.RawMessage {
	switch v := value.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return append(json.RawMessage(nil), v...)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return quoteJSON(fmt.Sprintf("%+v", value))
	}
	return raw
}
