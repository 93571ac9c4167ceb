package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Func is the ordinary shape of a tool.
type Func[In, Out any] = func(context.Context, In) (Out, error)

// errEnded stands for the answer of a function that gave none.
var errEnded = errors.New("panicked, or ended its goroutine")

// Record returns f as a tool whose calls r writes down. It changes neither
// arguments nor answers. The arguments are copied when they arrive. A panic of
// f is recorded as an answer of class [Unknown] and goes on.
func Record[In, Out any](r *Recorder, tool string, f Func[In, Out]) Func[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		p := r.Call(ctx, Call{Tool: tool, Args: Marshal(in)})
		returned := false
		defer func() {
			if !returned {
				p.Answer(Outcome{Class: Unknown}, nil, errEnded)
			}
		}()
		out, err = f(ctx, in)
		returned = true
		p.Answer(r.classify(err), resultOf(out, err), err)
		return out, err
	}
}

// Do runs f as one action and writes down its begin, its end and a cancel of
// ctx in between. The context that f receives carries the action. A panic of f
// is recorded and goes on. Of the reason Do says success only, and of a returned
// error which attempt's error it wraps or has the text of; a program that knows
// more uses [Recorder.Begin] and [Op.End].
func Do[Out any](ctx context.Context, r *Recorder, name string, f func(context.Context) (Out, error)) (Out, error) {
	inner, op := r.Begin(ctx, name)
	stop := op.follow(ctx)
	returned := false
	defer func() {
		if !returned {
			stop()
			op.Trouble(KindPanic, errEnded.Error())
			op.close()
		}
	}()
	out, err := f(inner)
	returned = true
	stop()
	e := Ending{Result: resultOf(out, err), Err: err, Cause: op.cause(err)}
	if err == nil {
		e.Reason = ReasonSuccess
	}
	op.End(e)
	return out, err
}

// follow has the errors of attempts remembered, and the cancel of ctx recorded at its instant, and in any case before
// what comes of it: context tells of a cancel on a goroutine of its own, which
// may come late.
func (o *Op) follow(ctx context.Context) (stop func() bool) {
	o.r.mu.Lock()
	o.does = true
	if ctx.Done() != nil {
		o.watch = ctx
		o.notice()
	}
	o.r.mu.Unlock()
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() {
		o.r.mu.Lock()
		defer o.r.mu.Unlock()
		o.notice()
	})
}

// classify reads the error. A panic in it stays here and leaves the error
// unknown: an error that is a nil pointer in an interface, which is a failure
// to the program all the same, panics in most of its methods.
func (r *Recorder) classify(err error) (o Outcome) {
	defer func() {
		if recover() != nil {
			o = Outcome{Class: Unknown}
		}
	}()
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
// a JSON string, so that nothing that happened is left out of a trace. It
// never panics: what observes must not change what happens.
func Marshal(value any) (raw json.RawMessage) {
	switch v := value.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return append(json.RawMessage(nil), v...)
	case int:
		return strconv.AppendInt(nil, int64(v), 10)
	case bool:
		return strconv.AppendBool(nil, v)
	}
	defer func() {
		if recover() != nil {
			raw = quoteJSON(fmt.Sprintf("(%T that panicked while it was written as JSON)", value))
		}
	}()
	raw, err := json.Marshal(value)
	switch {
	case err == nil:
		return raw
	case strings.Contains(err.Error(), "encountered a cycle"), endless(reflect.ValueOf(value), 0):
		return quoteJSON(fmt.Sprintf("(%T with a cycle)", value)) // %+v would overflow the stack
	}
	return quoteJSON(fmt.Sprintf("%+v", value))
}

// endless reports whether %+v of the value would never end, or nest too deeply
// to be of use. Pointers are followed as fmt does: the outermost only.
func endless(v reflect.Value, depth int) bool {
	const deepest = 100
	if depth > deepest {
		return true
	}
	switch v.Kind() {
	case reflect.Interface:
		return endless(v.Elem(), depth)
	case reflect.Pointer:
		return depth == 0 && endless(v.Elem(), 1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if endless(field, depth+1) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if endless(it.Value(), depth+1) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Interface, reflect.Slice, reflect.Map, reflect.Struct, reflect.Array:
		default:
			return false // bytes and the like, of which there may be many
		}
		for i := range v.Len() {
			if endless(v.Index(i), depth+1) {
				return true
			}
		}
	}
	return false
}
