package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A stream is an answer over HTTP while it is written: the handler's
// http.ResponseWriter, and the body that the client reads.
type stream struct {
	ctx    context.Context // of the client's request
	cancel func()          // ends the handler's request
	header http.Header
	get    bool // of a GET: it has no end of its own

	once  sync.Once
	ready chan struct{} // closed when status and header are there
	more  chan struct{} // holds a token when there may be something to read

	mu     sync.Mutex
	status int
	data   []byte
	over   bool // nothing follows
}

func newStream(ctx context.Context, get bool, cancel func()) *stream {
	return &stream{ctx: ctx, get: get, cancel: cancel, header: http.Header{}, ready: make(chan struct{}), more: make(chan struct{}, 1)}
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	if s.status == 0 {
		s.status = status
	}
	s.mu.Unlock()
}

func (s *stream) Write(b []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	s.data = append(s.data, b...)
	s.mu.Unlock()
	s.wake()
	return len(b), nil
}

// Flush implements http.Flusher.
func (s *stream) Flush() {
	s.WriteHeader(http.StatusOK)
	s.begin()
}

func (s *stream) begin() { s.once.Do(func() { close(s.ready) }) }

func (s *stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// end is the end of the answer.
func (s *stream) end() {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.begin()
	s.wake()
}

// leave breaks the connection off.
func (s *stream) leave() {
	s.cancel()
	s.end()
}

func (s *stream) response(req *http.Request) *http.Response {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.header.Clone(), ContentLength: -1, Body: s, Request: req,
	}
}

// Read implements io.Reader for the body.
func (s *stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n := copy(p, s.data)
		s.data = s.data[n:]
		over := s.over
		s.mu.Unlock()
		switch {
		case n > 0 || len(p) == 0:
			return n, nil
		case over:
			return 0, io.EOF
		}
		select {
		case <-s.more:
		case <-s.ctx.Done():
			s.cancel()
			return 0, s.ctx.Err()
		}
	}
}

// Close implements io.Closer for the body.
func (s *stream) Close() error {
	s.leave()
	return nil
}
