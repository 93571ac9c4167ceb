package faultsim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// An Issuer issues the credentials that the tools of a stage ask for. Make it
// with [Stage.Issuer]. Its methods may be called by several goroutines at once.
type Issuer struct {
	s      *Stage
	issued map[string]*credential
}

// A credential is one that was issued.
type credential struct {
	at      time.Time
	expired bool // a tool has refused it, and will not take it again
}

// Issuer puts an issuer of credentials on the stage. From then on every tool
// that can answer trace.Unauthenticated does so to a call whose credential was
// not issued, or has expired, before it does anything else. Where a call
// carries it is for the policy to say, in Refresh.Credential.
//
// A credential expires where the schedule plans an unauthenticated answer to the
// attempt that carries it, and at the instants of [Schedule.Expiries]; what was
// issued later is good. Fetching one takes no time and does not fail.
//
// Code takes it from [Issuer.Aside], or over HTTP from a [Route] of
// trace.RoleAuth whose Answer is the issuer:
//
//	issuer := s.Issuer()
//	client := s.Client(
//		faultsim.Route{Tool: "auth", Path: "/token", Role: trace.RoleAuth, Answer: issuer},
//		faultsim.Route{Tool: "weather", Path: "/v1/forecast", Answer: forecast},
//	)
func (s *Stage) Issuer() *Issuer {
	where := s.policy.Refresh.Credential
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.issuer == nil:
		s.issuer = &Issuer{s: s, issued: map[string]*credential{}}
	case s.issuer.s != s: // built anew after a crash: what was issued is good still
		s.issuer = &Issuer{s: s, issued: s.issuer.issued}
	}
	if where == "" {
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Issuer needs to know where calls carry their credential: set Policy.Refresh.Credential to a field of the arguments, or to the name of a header"))
	}
	return s.issuer
}

// Issue makes a credential that is good from now on.
func (i *Issuer) Issue() string {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	token := "token-" + strconv.Itoa(len(i.issued)+1)
	i.issued[token] = &credential{at: time.Now()}
	return token
}

// Aside is the call that fetches a credential, for code that has a function for
// it. It is in the trace under the name, as a call of trace.RoleAuth.
func (i *Issuer) Aside(name string) func(context.Context) (string, error) {
	fetch := Aside(i.s, name, trace.RoleAuth, func(ctx context.Context, _ struct{}) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return i.Issue(), nil
	})
	return func(ctx context.Context) (string, error) { return fetch(ctx, struct{}{}) }
}

// ServeHTTP answers with a fresh credential, as RFC 6749 section 5.1 has it.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": i.Issue(), "token_type": "Bearer"})
}

// check is what the tool says to the credential of a call that has arrived; f
// is what is planned for it. The stage is locked.
func (i *Issuer) check(t *tool, token string, f Fault) Fault {
	refusal := Fault{Class: trace.Unauthenticated}
	c := i.issued[token]
	switch {
	case f.Class == trace.Unauthenticated:
		if c != nil {
			c.expired = true
		}
		return f
	case c != nil && !c.expired && !i.s.climate.expires(c.at), !t.can(&refusal):
		return f
	}
	return f.despite(refusal)
}
