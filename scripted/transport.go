package scripted

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/rehearse-go/rehearse/internal/double"
)

// replaced is who has http.DefaultTransport at present.
var replaced struct {
	sync.Mutex
	by *double.Pos // nil: nobody
}

// ReplaceDefaultTransport puts the server into the place of
// http.DefaultTransport until the test ends, for code whose clients belong to
// its package: http.Get, http.DefaultClient, and every client without a
// transport of its own. Code that has built its own transport is not reached.
//
// The variable belongs to the whole process, and reading it is not guarded. So
// no other test may send requests at the same time: not for use in parallel
// tests, nor beside them. A second replacement at the same time is reported and
// has no effect.
//
// What stands in its place is an *http.Transport, since some code asserts that
// type in order to Clone it. A clone cannot reach the server, nor the network:
// it is reported when it dials.
func (s *Server) ReplaceDefaultTransport() {
	s.t.Helper()
	at := double.Caller(0)
	replaced.Lock()
	defer replaced.Unlock()
	if replaced.by != nil {
		s.door.Report("replace", "scripted: ReplaceDefaultTransport at %s: the one at %s is still in place; replace it once at a time, and in no parallel test", at, *replaced.by)
		return
	}
	before, ours := http.DefaultTransport, s.transport()
	http.DefaultTransport, replaced.by = ours, &at
	s.t.Cleanup(func() {
		s.t.Helper()
		s.restore(before, ours, at)
	})
}

func (s *Server) restore(before, ours http.RoundTripper, at double.Pos) {
	s.t.Helper()
	replaced.Lock()
	defer replaced.Unlock()
	if http.DefaultTransport != ours {
		s.door.Report("restore", "scripted: http.DefaultTransport was changed by somebody else while ReplaceDefaultTransport at %s had it; what was there before is back", at)
	}
	http.DefaultTransport, replaced.by = before, nil
}

// transport is an *http.Transport whose requests all go to the server.
func (s *Server) transport() *http.Transport {
	refuse := func(_ context.Context, _, address string) (net.Conn, error) {
		text := fmt.Sprintf("scripted: a clone of http.DefaultTransport dials %s past the server made at %s", address, s.made)
		s.door.Report("dial", "%s\n\tHand the server's Client to the code under test instead.", text)
		return nil, &Error{Tool: address, Text: text, Err: ErrUnmatched}
	}
	t := &http.Transport{
		DialContext: refuse, DialTLSContext: refuse,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2 of its own
	}
	t.RegisterProtocol("http", s)
	t.RegisterProtocol("https", s)
	return t
}
