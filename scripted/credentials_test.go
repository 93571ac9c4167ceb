package scripted_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const tokenURL = "https://auth.test/token"

// A till charges with a token, and fetches another where its own is refused.
type till struct {
	client    *http.Client
	refreshes int  // at most
	captured  bool // the mistake: the token is read before the loop and never again
}

func (p *till) charge(t *testing.T, ctx context.Context) int {
	token := "old"
	sent := token
	for n := 0; ; n++ {
		if !p.captured {
			sent = token
		}
		req := post(t, ctx, strings.NewReader(order))
		req.Header.Set("Authorization", "Bearer "+sent)
		status, _, err := send(t, p.client, req)
		require.NoError(t, err)
		if status != http.StatusUnauthorized || n == p.refreshes {
			return status
		}
		req, err = http.NewRequestWithContext(ctx, "POST", tokenURL, nil)
		require.NoError(t, err)
		_, token, err = send(t, p.client, req)
		require.NoError(t, err)
	}
}

// accepts answers requests that carry the token.
func accepts(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"id":"ch-1"}`)
	})
}

// A token that was refused and is sent again is one that nobody has refreshed
// (field case F023).
func TestARetryCarriesTheRefreshedToken(t *testing.T) {
	for _, tt := range []struct {
		name      string
		till      till
		accepted  string
		tokens    []string
		refreshes int
		status    int
		broken    []string // rules
	}{
		{"the new one", till{refreshes: 1}, "new", []string{"old", "new"}, 1, 200, nil},
		{"the new one is refused too", till{refreshes: 1}, "newer", []string{"old", "new"}, 1, 401, nil},
		{"the captured one", till{refreshes: 3, captured: true}, "new", []string{"old", "old", "old", "old"}, 3, 401, []string{"new-credential-used", "refreshed-once"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := scripted.NewServer(t).Into(&trace.Recorder{Clear: true, Credential: "Authorization"})
				auth := srv.Route("POST", "auth.test", "/token").As(trace.RoleAuth).Text(200, "new").Any()
				pay := payRoute(srv).Handle(accepts(tt.accepted)).Any()
				tt.till.client = srv.Client()

				require.Equal(t, tt.status, tt.till.charge(t, t.Context()))
				require.Equal(t, tt.tokens, bearers(pay.Requests()))
				require.Equal(t, tt.refreshes, auth.Calls())
				var broken []string
				for _, f := range invariants.Find(srv.Trace(), invariants.NewCredentialUsed(), invariants.RefreshedOnce(invariants.Policy{}), invariants.SameArguments()) {
					broken = append(broken, f.Invariant)
				}
				require.Equal(t, tt.broken, broken)
			})
		})
	}
}

func bearers(requests []scripted.Request) (tokens []string) {
	for _, r := range requests {
		tokens = append(tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
	return tokens
}
