package wire

import (
	"bytes"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// An Answer is a reply on the wire.
type Answer struct {
	double.Reply
	Events [][]byte // of a stream; nil: it is there at once
}

// Reply writes what a model replies, in the way that the request asks for. The error
// names what the API cannot carry.
func Reply(f Format, a *Ask, said trace.Reply) (Answer, error) {
	out := Answer{Reply: double.Reply{Class: trace.OK, Status: http.StatusOK}}
	if a.Stream {
		out.Events = f.Stream(a, said)
		out.Header, out.Body = http.Header{"Content-Type": {"text/event-stream"}}, bytes.Join(out.Events, nil)
		return out, nil
	}
	body, err := f.Whole(a, said)
	out.Body = body
	return out, err
}

// Fails is the answer of a class: the provider's own or, where it has none, the one
// that is usual in HTTP.
func Fails(f Format, class trace.Class, say string, wait time.Duration) double.Reply {
	own, ok := f.Failure(class, say, wait)
	if !ok {
		out := double.Reply{Class: class}
		if say != "" && double.Speaks(class) {
			out.Body = double.Saying(class, say)
		}
		return out
	}
	return double.Reply{Class: class, Status: own.Status, Header: own.Header, Body: own.Body}
}

// Rejects is the answer to a request that cannot be read, or is rejected.
func Rejects(f Format, why *Rejection) double.Reply {
	own := f.Reject(why)
	return double.Reply{Class: trace.Invalid, Status: own.Status, Header: own.Header, Body: own.Body}
}
