package zoo

import (
	"context"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects that need several requests of one tool, page after page.
func pages() []Specimen {
	return []Specimen{
		{"counter-shared-by-pages", "One counter of attempts serves all pages, and a late page has none left.",
			toolErrors, "conforms", paging(func(ctx context.Context, call tool) ([]forecast, error) {
				n := 0
				return eachPage(func(q query) (forecast, error) { return askFor(ctx, call, q, &n) })
			})},
		{"page-missing", "A page that cannot be had is left out, and the rest is handed on as the whole.",
			handling, "honest-ending", paging(func(ctx context.Context, call tool) (all []forecast, err error) {
				for _, q := range twoCities {
					f, err := askFor(ctx, call, q, new(int))
					if err != nil && len(all) == 0 || ctx.Err() != nil {
						return nil, err
					}
					if err == nil {
						all = append(all, f)
					}
				}
				return all, nil
			})},
	}
}

var twoCities = []query{pune, {City: "Goa", Units: "metric"}}

// paging plugs in an agent that asks for two cities.
func paging(agent func(context.Context, tool) ([]forecast, error)) faultsim.Adapter {
	one, _ := sunny(context.Background(), pune)
	return faultsim.Adapter{
		Name: "forecasts", Policy: policy(), Pages: len(twoCities), Want: []forecast{one, one},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			call := faultsim.Tool(s, "weather", sunny, throttling())
			return func(ctx context.Context) (any, error) { return agent(ctx, call) }
		},
	}
}

// turnsPages is the right one: each page has attempts of its own.
func turnsPages(ctx context.Context, call tool) ([]forecast, error) {
	return eachPage(func(q query) (forecast, error) { return askFor(ctx, call, q, new(int)) })
}

func eachPage(ask func(query) (forecast, error)) (all []forecast, err error) {
	for _, q := range twoCities {
		f, err := ask(q)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// askFor is the patient loop for one page, which counts its attempts in n.
func askFor(ctx context.Context, call tool, q query, n *int) (forecast, error) {
	wait := base
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		*n++
		f, err := once(ctx, call, q)
		if err == nil {
			return f, nil
		}
		if *n >= attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
