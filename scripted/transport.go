package scripted

import (
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
// What stands in its place is the server itself, and no *http.Transport. SDKs
// that clone the default transport where it is one, and else take it as it is
// (openai-go), reach the server; code that asserts the type without a look
// panics, and code that then makes a transport of its own goes to the network.
// Hand such code the server's Client.
func (s *Server) ReplaceDefaultTransport() {
	s.t.Helper()
	at := double.Caller(0)
	replaced.Lock()
	defer replaced.Unlock()
	if replaced.by != nil {
		s.door.Report("replace", "scripted: ReplaceDefaultTransport at %s: the one at %s is still in place; replace it once at a time, and in no parallel test", at, *replaced.by)
		return
	}
	before := http.DefaultTransport
	http.DefaultTransport, replaced.by = s, &at
	s.t.Cleanup(func() {
		s.t.Helper()
		s.restore(before, at)
	})
}

func (s *Server) restore(before http.RoundTripper, at double.Pos) {
	s.t.Helper()
	replaced.Lock()
	defer replaced.Unlock()
	if http.DefaultTransport != http.RoundTripper(s) {
		s.door.Report("restore", "scripted: http.DefaultTransport was changed by somebody else while ReplaceDefaultTransport at %s had it; what was there before is back", at)
	}
	http.DefaultTransport, replaced.by = before, nil
}
