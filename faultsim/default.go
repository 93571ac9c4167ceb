package faultsim

import (
	"errors"
	"net/http"
)

// ReplaceDefaultTransport answers what is sent through http.DefaultTransport
// by the routes until the trial ends: http.Get, http.DefaultClient, and every
// client without a transport of its own. It is for code whose clients belong
// to its package; where a client can be handed in, use [Stage.Client].
//
// The variable belongs to the whole process, so the adapter must be Serial, no
// test beside it may send requests, and code that expects an *http.Transport
// in it is not served.
func (s *Stage) ReplaceDefaultTransport(routes ...Route) {
	if !s.serial {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.misuse = append(s.misuse, errors.New("faultsim: ReplaceDefaultTransport changes the whole process: set the adapter's Serial, so that trials run one at a time"))
		return
	}
	before := http.DefaultTransport
	http.DefaultTransport = s.Client(routes...).Transport
	s.Close(func() { http.DefaultTransport = before })
}
