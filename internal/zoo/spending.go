package zoo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// What an attempt costs in tokens, and what one action may cost.
const (
	price = 300
	spend = 900
)

var errOverSpend = errors.New("weather: no tokens left for another attempt")

func spending() []Specimen {
	return []Specimen{
		{"failures-are-free", "Tokens are charged when the answer has been parsed, and attempts that fail cost nothing.",
			testingRetries, "within-spend", metering(purse{chargesSuccess: true})},
		{"spend-overdrawn", "The loop goes on while anything is left, and the last attempt costs more than that.",
			testingRetries, "within-spend", paidBy(spend+100, purse{limit: spend + 100, overdraws: true})},
		{"last-unit-left", "An attempt that would use up the tokens to the last one is not made.",
			testingRetries, "conforms", metering(purse{leavesUnit: true})},
	}
}

// metering plugs in a loop of six attempts that can pay for three of them.
func metering(p purse) faultsim.Adapter { p.limit = spend; return paidBy(spend, p) }

func paidBy(most int, p purse) faultsim.Adapter {
	a := agents(with(func(p *invariants.Policy) {
		p.ID, p.MaxAttempts, p.Price, p.Spend = "weather/metered", 6, price, most
	}), failures(), p.forecast)
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, errOverSpend) {
			return trace.ReasonBudget
		}
		return 0
	}
	return a
}

// A purse is what one action may cost. Its fields are the ways in which it is
// kept wrongly.
type purse struct {
	limit                                 int
	chargesSuccess, overdraws, leavesUnit bool
}

// pays reports whether another attempt is paid for.
func (p purse) pays(spent int) bool {
	switch {
	case p.overdraws:
		return spent < p.limit
	case p.leavesUnit:
		return spent+price < p.limit
	}
	return spent+price <= p.limit
}

func (p purse) forecast(ctx context.Context, call tool) (forecast, error) {
	wait, spent := base, 0
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil || !p.chargesSuccess {
			spent += price
		}
		if err == nil {
			return f, nil
		}
		if n == 6 || final(ctx, err) {
			return forecast{}, err
		}
		if !p.pays(spent) {
			return forecast{}, fmt.Errorf("%w: %w", errOverSpend, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
