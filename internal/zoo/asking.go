package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that ask the bank what became of a payment.
func asksEarly() []Specimen {
	return []Specimen{
		{"asks-too-early", "After a timeout the bank is asked at once, says no, and makes the payment a moment later.",
			retrySafe, "one-effect", asking(true)},
	}
}

const invoice = "https://bank.example/invoices/7"

// asking plugs in an agent that asks after an outcome that is not known. The
// policy cannot say "repeat where the bank says that nothing was done", so an
// agent that does so has that accepted.
func asking(repeats bool) faultsim.Adapter {
	a := faultsim.Adapter{
		Name: "pay", Policy: unkeyedPolicy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			var paid atomic.Bool
			pay := faultsim.Tool(s, "bank", func(ctx context.Context, p payment) (receipt, error) {
				paid.Store(true)
				return settle(ctx, p)
			}, bankFailures())
			c := s.Client(faultsim.Route{Tool: "status", Role: trace.RoleReconcile, Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(paid.Load())
			})})
			b := asker{pay, c, repeats}
			return func(ctx context.Context) (any, error) {
				paid.Store(false) // the next payment
				return b.settle(ctx)
			}
		},
	}
	if repeats {
		a.Accept = map[string]string{"conforms": "the bank is asked before a payment is repeated"}
	}
	return a
}

type asker struct {
	pay     bank
	client  *http.Client
	repeats bool
}

func (a *asker) settle(ctx context.Context) (receipt, error) {
	bill, wait := payment{Invoice: 7, Cents: 1900}, time.Second
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return receipt{}, err
		}
		r, err := limited(ctx, func(ctx context.Context) (receipt, error) { return a.pay(ctx, bill) })
		if err == nil || ctx.Err() != nil || errors.Is(err, errBankInvalid) {
			return r, err
		}
		if !errors.Is(err, errBankBusy) {
			switch paid, asked := a.paid(ctx); {
			case asked != nil:
				return receipt{}, errors.Join(err, asked)
			case paid:
				return receipt{Invoice: 7}, nil
			case !a.repeats:
				return receipt{}, err
			}
		}
		if n == attempts {
			return receipt{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return receipt{}, err
		}
		wait *= 2
	}
}

func (a *asker) paid(ctx context.Context) (paid bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, invoice, nil)
	if err != nil {
		return false, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return paid, json.NewDecoder(resp.Body).Decode(&paid)
}
