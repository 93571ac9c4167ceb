package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// clerksOnline has clerks whose bank is reached over HTTP.
func clerksOnline() faultsim.Adapter {
	p := jobPolicy()
	p.ID, p.Key, p.Retry = "job/v7", "Idempotency-Key", append(p.Retry, trace.NotConnected)
	build := func(s *faultsim.Stage) faultsim.Action {
		c := clerkOnline(s)
		return func(ctx context.Context) (any, error) { return c.pay(ctx, trace.ActionName(ctx), false) }
	}
	return faultsim.Adapter{Name: "pay", Policy: p, Want: receipt{7}, Subject: build, Resume: build}
}

func clerkOnline(s *faultsim.Stage) *clerk {
	client := s.Client(faultsim.Route{Tool: "bank", Method: http.MethodPost, Hints: []faultsim.HintForm{}})
	return &clerk{disk: s.Disk(), start: time.Now(), bank: func(ctx context.Context, p payment) (receipt, error) { return pay(ctx, client, p) }}
}

// pay is one payment over HTTP.
func pay(ctx context.Context, client *http.Client, p payment) (receipt, error) {
	key := p.Key
	p.Key = ""
	body, err := json.Marshal(p)
	if err != nil {
		return receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank/payments", bytes.NewReader(body))
	if err != nil {
		return receipt{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := client.Do(req)
	if err != nil {
		return receipt{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return receipt{}, err
	case resp.StatusCode == http.StatusTooManyRequests:
		return receipt{}, &waitError{}
	case resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode >= http.StatusInternalServerError:
		return receipt{}, errBankDown
	case resp.StatusCode != http.StatusOK:
		return receipt{}, errBankInvalid
	case !json.Valid(raw):
		return receipt{}, errBankInvalid
	}
	return receipt{p.Invoice}, nil
}
