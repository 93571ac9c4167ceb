package trace_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A token that was refreshed between two calls is no changed argument, and is
// seen all the same.
func TestTheCredentialIsTakenOutOfTheArguments(t *testing.T) {
	r := &trace.Recorder{Clear: true, Credential: "auth.token"}
	for _, token := range []string{"old", "new"} {
		p := r.Call(t.Context(), trace.Call{Tool: "bank", Args: json.RawMessage(`{"auth":{"token":"` + token + `"},"cents":5}`)})
		require.Equal(t, token, p.Credential())
		p.Answer(trace.Outcome{Class: trace.Unauthenticated}, nil, nil)
	}
	attempts := r.Trace().Actions()[0].Series[0].Attempts
	require.Len(t, attempts, 2)
	require.Equal(t, attempts[0].Args, attempts[1].Args)
	require.Equal(t, "old", attempts[0].Credential)
	require.Equal(t, "new", attempts[1].Credential)
	require.Contains(t, r.Trace().Timeline(), "another credential new")
}

// By default the trace shows that two calls carried the same one, and not which.
func TestCredentialsAreDigestsThatCompare(t *testing.T) {
	r := &trace.Recorder{Credential: "token"}
	for _, token := range []string{"old", "old", "new"} {
		r.Call(t.Context(), trace.Call{Tool: "bank", Credential: token})
	}
	events := r.Trace().Events
	require.Equal(t, events[0].Credential, events[1].Credential)
	require.NotEqual(t, events[0].Credential, events[2].Credential)
	require.NotContains(t, written(t, r.Trace()), "old")

	r = &trace.Recorder{Keep: func(f string) bool { return f == trace.KeepCredential }}
	r.Call(t.Context(), trace.Call{Tool: "bank", Credential: "old"})
	require.Equal(t, "old", r.Trace().Events[0].Credential)
}

func TestTransportReadsTheCredential(t *testing.T) {
	for name, tt := range map[string]struct{ where, header, want string }{
		"of a header":           {"Authorization", "Bearer t-1", "t-1"},
		"without a scheme":      {"Authorization", "t-1", "t-1"},
		"of the body":           {"token", "", "in-body"},
		"not where nobody asks": {"", "Bearer t-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Clear: true, Credential: tt.where}
			req := post(t, "https://bank.example/pay", `{"token":"in-body"}`)
			if tt.header != "" {
				req.Header.Set("Authorization", tt.header)
			}
			_, err := r.Transport("bank", roundTrip(func(*http.Request) (*http.Response, error) { return respond(204, ""), nil })).RoundTrip(req)
			require.NoError(t, err)
			require.Equal(t, tt.want, r.Trace().Events[0].Credential)
		})
	}
}
