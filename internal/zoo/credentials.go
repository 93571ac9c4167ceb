package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects whose token expires.
func credentials() []Specimen {
	return []Specimen{
		{"token-captured", "The token is read before the loop; it is refreshed, and the retry sends the old one.",
			"F023", "new-credential-used", members((*member).captured)},
		{"token-taken-for-good", "The stored token does not look expired, so nobody refreshes it, and the same refused call is made again.",
			"F023", "new-credential-used", members((*member).trusting)},
		{"token-refreshed-without-end", "Each refusal brings a new token and another call, and nobody counts.",
			"F023", "refreshed-once", members((*member).stubborn)},
		{"token-refreshed-on-any-failure", "Whatever fails, the token is thrown away first.",
			"F023", "refreshed-once", members((*member).nervous)},
		{"token-refreshed-by-everybody", "Every caller that was refused fetches a token of its own, though another has brought one.",
			"F023", "refresh-shared", members((*member).alone)},
		{"token-expired-is-final", "An expired token counts as a refusal, and the action ends with it.",
			"F023", "conforms", members((*member).resigned)},
		{"http-header-kept", "The header is set when the request is made, and the refreshed token does not get into it.",
			"F023", "new-credential-used", bearing(func(b *bearer) { b.kept = true })},
	}
}

type (
	asked   struct{ City, Token string }
	station = func(context.Context, asked) (forecast, error)
)

var errToken = errors.New("weather: the token is not valid")

// memberPolicy promises one refresh, which its callers share.
func memberPolicy() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.ID, p.Refresh = "weather-member/v1", invariants.Refresh{Once: true, Credential: "Token", Shared: true}
	})
}

// A member asks the weather with a token.
type member struct {
	wallet
	call station
}

// A wallet holds one token for all callers.
type wallet struct {
	fetch func(context.Context) (string, error)
	turn  chan string // holds the token; empty while somebody fetches one
}

func newWallet(fetch func(context.Context) (string, error)) wallet {
	w := wallet{fetch, make(chan string, 1)}
	w.turn <- ""
	return w
}

// token is the one that is held, or a fresh one where that was refused.
func (w *wallet) token(ctx context.Context, refused string) (string, error) {
	var held string
	select {
	case held = <-w.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if held == refused {
		fresh, err := w.fetch(ctx)
		if err != nil {
			w.turn <- held
			return "", err
		}
		held = fresh
	}
	w.turn <- held
	return held, nil
}

func members(act func(*member, context.Context) (forecast, error)) faultsim.Adapter {
	return membersUnder(memberPolicy(), act)
}

func membersUnder(p invariants.Policy, act func(*member, context.Context) (forecast, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			errs := throttling()
			errs[trace.Unauthenticated] = errToken
			m := &member{newWallet(s.Issuer().Aside("auth")), faultsim.Tool(s, "weather", func(context.Context, asked) (forecast, error) {
				return forecast{Celsius: 19}, nil
			}, errs)}
			return func(ctx context.Context) (any, error) { return act(m, ctx) }
		},
	}
}

// ask is one attempt with the token.
func (m *member) ask(ctx context.Context, token string) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return m.call(ctx, asked{"Pune", token})
}

// loop is the right loop around two habits: where the token of an attempt comes
// from, and what is done about a failure before the wait. mend tells whether the
// failure is mended and needs no wait.
func (m *member) loop(ctx context.Context, token func() (string, error), mend func(token string, err error) (mended bool, failed error)) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		t, err := token()
		if err != nil {
			return forecast{}, err
		}
		f, err := m.ask(ctx, t)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil {
			return forecast{}, err
		}
		mended, failed := mend(t, err)
		switch {
		case failed != nil:
			return forecast{}, failed
		case mended:
			continue
		case !retryable(err):
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// held reads the token afresh for each attempt.
func (m *member) held(ctx context.Context) func() (string, error) {
	return func() (string, error) { return m.token(ctx, "") }
}

// once renews a token that was refused, once for the action.
func (m *member) once(ctx context.Context, renew func(refused string) error) func(string, error) (bool, error) {
	done := false
	return func(token string, err error) (bool, error) {
		if done || !errors.Is(err, errToken) {
			return false, nil
		}
		done = true
		return true, renew(token)
	}
}

func (m *member) renew(ctx context.Context) func(refused string) error {
	return func(refused string) error {
		_, err := m.token(ctx, refused)
		return err
	}
}

func (m *member) forecast(ctx context.Context) (forecast, error) {
	return m.loop(ctx, m.held(ctx), m.once(ctx, m.renew(ctx)))
}

// captured reads the token once.
func (m *member) captured(ctx context.Context) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	token, err := m.token(ctx, "")
	return m.loop(ctx, func() (string, error) { return token, err }, m.once(ctx, m.renew(ctx)))
}

func (m *member) trusting(ctx context.Context) (forecast, error) {
	return m.loop(ctx, m.held(ctx), func(_ string, err error) (bool, error) { return errors.Is(err, errToken), nil })
}

func (m *member) stubborn(ctx context.Context) (forecast, error) {
	return m.loop(ctx, m.held(ctx), func(token string, err error) (bool, error) {
		if !errors.Is(err, errToken) {
			return false, nil
		}
		return true, m.renew(ctx)(token)
	})
}

func (m *member) nervous(ctx context.Context) (forecast, error) {
	done := false
	return m.loop(ctx, m.held(ctx), func(token string, err error) (bool, error) {
		refused := errors.Is(err, errToken)
		if refused && done || !refused && !retryable(err) {
			return false, nil
		}
		done = done || refused
		return refused, m.renew(ctx)(token)
	})
}

// alone fetches without a look at what the others have brought.
func (m *member) alone(ctx context.Context) (forecast, error) {
	return m.loop(ctx, m.held(ctx), m.once(ctx, func(string) error {
		token, err := m.fetch(ctx)
		if err == nil {
			<-m.turn
			m.turn <- token
		}
		return err
	}))
}

func (m *member) resigned(ctx context.Context) (forecast, error) {
	return m.loop(ctx, m.held(ctx), func(string, error) (bool, error) { return false, nil })
}

// unshared is the contract of callers that each make their own refresh.
func unshared() invariants.Policy {
	p := memberPolicy()
	p.ID, p.Refresh.Shared = "weather-member/v2", false
	return p
}

// A bearer puts the token into requests, and refreshes it below the loop.
type bearer struct {
	wallet
	next http.RoundTripper
	kept bool // the header of a request stays as it was set first
}

// bearerPolicy does not count the repeat after a refresh.
func bearerPolicy() invariants.Policy {
	p := webPolicy()
	p.ID, p.Refresh = "weather-bearer/v1", invariants.Refresh{Once: true, Credential: "Authorization", Extra: true, Shared: true}
	return p
}

func bearing(change func(*bearer)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: bearerPolicy(), Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			plain := s.Client(route(http.MethodGet), faultsim.Route{Tool: "auth", Path: "/token", Role: trace.RoleAuth, Answer: s.Issuer()})
			b := &bearer{wallet: newWallet(func(ctx context.Context) (string, error) { return fetchToken(ctx, plain) }), next: plain.Transport}
			change(b)
			a := &webAgent{client: &http.Client{Transport: b}, hint: readHint, retry: retryStatus, decode: decode}
			return func(ctx context.Context) (any, error) { return a.forecast(ctx) }
		},
	}
}

func fetchToken(ctx context.Context, c *http.Client) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://auth.example/token", nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var grant struct {
		Token string `json:"access_token"`
	}
	return grant.Token, json.NewDecoder(resp.Body).Decode(&grant)
}

func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := b.token(req.Context(), "")
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.next.RoundTrip(out)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	if token, err = b.token(req.Context(), token); err != nil {
		return nil, err
	}
	if !b.kept {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	return b.next.RoundTrip(out)
}
