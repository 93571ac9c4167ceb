package double

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/rehearse-go/rehearse/trace"
)

// response builds what net/http's transport would return. The connection
// breaks after cut bytes of the body; negative: it does not.
func response(req *http.Request, status int, header http.Header, body []byte, cut int, p Pieces) *http.Response {
	text := http.StatusText(status)
	if text == "" {
		text = "Unknown"
	}
	d := &delivery{resp: http.Response{
		Status: strconv.Itoa(status) + " " + text, StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(body)), Request: req, Body: http.NoBody,
	}}
	resp := &d.resp
	if status < 200 || status == http.StatusNoContent || status == http.StatusNotModified {
		resp.ContentLength = 0
		return resp
	}
	d.length[0] = strconv.Itoa(len(body))
	header["Content-Length"] = d.length[:]
	if req.Method == http.MethodHead || len(body) == 0 {
		return resp
	}
	d.body.rest = body
	if cut >= 0 && cut < len(body) {
		d.body.rest, d.body.broken = body[:cut], true
	}
	if p.Over > 0 {
		d.body.arrives(p)
	}
	resp.Body = &d.body
	return resp
}

// A delivery is a response and what belongs to it, in one allocation.
type delivery struct {
	resp   http.Response
	body   responseBody
	length [1]string
}

// Deliver lets the body of a response end with ctx, as net/http does, and
// calls end once, when the answer has ended: at the end of its body, when the
// body is closed, or when a read meets the end of ctx, which is then told in
// interrupted; else that is 0, and [trace.Reset] where a read meets the break of
// a body that comes in pieces. A response without a body has ended already.
// Nil ctx never ends, which is for deaf tools.
func Deliver(ctx context.Context, resp *http.Response, end func(interrupted trace.Class)) {
	b, ok := resp.Body.(*responseBody)
	if !ok {
		end(0)
		return
	}
	b.ctx, b.end = ctx, end
}

// A responseBody is a body in memory. A Close may come while a Read is under
// way in another goroutine.
type responseBody struct {
	rest   []byte
	broken bool // io.ErrUnexpectedEOF in place of io.EOF
	ctx    context.Context
	end    func(trace.Class)
	ended  atomic.Bool
	closed atomic.Bool
	pace   *arrival // of a body that comes in pieces; nil: it is there at once
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.ctx != nil && b.ctx.Err() != nil {
		b.over(Ended(b.ctx))
		return 0, context.Cause(b.ctx)
	}
	ready := len(b.rest)
	if b.pace != nil && len(p) > 0 {
		n, ended, err := b.pace.await(b.ctx, len(b.rest))
		if ended != 0 {
			b.over(ended)
			return 0, context.Cause(b.ctx)
		}
		if err != nil {
			return 0, err
		}
		ready = n
	}
	n := copy(p, b.rest[:ready])
	b.rest = b.rest[n:]
	if b.pace != nil {
		b.pace.taken += n
	}
	switch {
	case len(b.rest) > 0 || len(p) == 0 || b.stalls():
		return n, nil
	case b.broken && n > 0:
		return n, nil
	case b.broken && b.pace != nil:
		b.over(trace.Reset) // who leaves before that has not seen it
		return 0, io.ErrUnexpectedEOF
	case b.broken:
		b.over(0)
		return 0, io.ErrUnexpectedEOF
	}
	b.over(0)
	return n, io.EOF // with the last bytes, as net/http does where the length is known
}

// stalls reports whether the end of the body never comes.
func (b *responseBody) stalls() bool { return b.pace != nil && b.pace.stall }

func (b *responseBody) Close() error {
	b.closed.Store(true)
	if b.pace != nil {
		b.pace.close()
	}
	b.over(0)
	return nil
}

func (b *responseBody) over(interrupted trace.Class) {
	if b.end != nil && b.ended.CompareAndSwap(false, true) {
		b.end(interrupted)
	}
}

// Serve lets h answer the captured request, in the caller's goroutine, and
// returns what it wrote.
func Serve(h http.Handler, req *http.Request, r *Request) Reply {
	in := req.Clone(req.Context())
	in.Body = io.NopCloser(bytes.NewReader(r.Body))
	in.ContentLength, in.GetBody = int64(len(r.Body)), nil
	in.RequestURI, in.Method = req.URL.RequestURI(), r.Method
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	w := &writer{header: http.Header{}, body: []byte{}}
	h.ServeHTTP(w, in)
	w.WriteHeader(http.StatusOK)
	if w.sent.Get("Content-Type") == "" {
		w.sent["Content-Type"] = nil // none was written, so none is sent
	}
	return Reply{Class: trace.ClassifyStatus(w.status), Status: w.status, Header: w.sent, Body: w.body}
}

// A writer keeps what a handler writes.
type writer struct {
	header, sent http.Header
	status       int // 0: not written yet
	body         []byte
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.sent.Get("Content-Type") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(p))
	}
	w.body = append(w.body, p...)
	return len(p), nil
}
