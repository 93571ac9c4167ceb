package zoo

import (
	"context"
	"errors"

	"github.com/rehearse-go/rehearse/faultsim"
)

func allowed() []Specimen {
	return []Specimen{
		{"switches-to-a-forbidden-tool", "When the weather tool stays down the agent scrapes a site that it has no leave for.",
			testingRetries, "allowed-tools", approving([]string{"weather"}, func(t stations) []tool { return []tool{t.weather, t.scraper} })},
		{"forbidden-as-a-last-resort", "The approved alternative is asked first, and behind it stands one that nobody has approved.",
			testingRetries, "allowed-tools", approving([]string{"weather", "almanac"}, func(t stations) []tool { return []tool{t.weather, t.almanac, t.scraper} })},
	}
}

// stations are tools that all know the weather.
type stations struct{ weather, almanac, scraper tool }

// approving plugs in an agent that asks one tool after another, while the one
// before it is down for good, and may ask the named ones.
func approving(names []string, order func(stations) []tool) faultsim.Adapter {
	a := weather(nil)
	a.Allowed = names
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		double := func(name string) tool { return faultsim.Tool(s, name, sunny, failures()) }
		tools := order(stations{double("weather"), double("almanac"), double("scraper")})
		return func(ctx context.Context) (any, error) { return firstOf(ctx, tools) }
	}
	return a
}

// firstOf goes on to the next tool where one stays down. A refusal is final.
func firstOf(ctx context.Context, tools []tool) (f forecast, err error) {
	for _, t := range tools {
		f, err = patient(ctx, t)
		down := errors.Is(err, errUnavailable) || errors.Is(err, context.DeadlineExceeded)
		if err == nil || ctx.Err() != nil || !down {
			break
		}
	}
	return f, err
}
