package zoo

import (
	"context"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// An agent writes a briefing: it looks the city up, and asks for the weather and
// the alerts of the place.
type (
	spot     struct{ Lat, Lon int }
	briefing struct {
		Weather forecast
		Alerts  int
	}
	lookup func(context.Context, query) (spot, error)
	report func(context.Context, spot) (forecast, error)
	alert  func(context.Context, spot) (int, error)
)

var (
	atPune = spot{18, 73}
	atHome = spot{52, 13}
)

// A briefer is built on three tools.
type briefer struct {
	geo     lookup
	weather report
	alerts  alert

	mu   sync.Mutex
	last spot // where the latest action was
}

// The steps of a briefing, and what is promised of them.
var (
	stepGeo     = invariants.Step("geo").Args(pune)
	stepWeather = invariants.Step("weather").Args(atPune)
	stepAlerts  = invariants.Step("alerts").Args(atPune)

	whole      = invariants.Trajectory{Succeeded: true} // a failure leaves the rest out
	knowsFirst = invariants.Trajectory{Counted: invariants.SuccessfulAttempts}.Before(stepGeo, invariants.Step("weather"))
	noneTwice  = invariants.AtMost(stepGeo, stepWeather, stepAlerts)
	thisWay    = whole.Exact(stepGeo, stepWeather, stepAlerts)
	theseAtAll = whole.AtLeast(stepAlerts, stepWeather)
	justThese  = whole.Unordered(stepAlerts, stepGeo, stepWeather)
	thePlace   = whole.InOrder(stepGeo, stepWeather)
)

func errands() []Specimen {
	return []Specimen{
		{"forecast-of-nowhere", "When the city cannot be looked up the weather is asked for the place at 0, 0.",
			testingRetries, "trajectory-before", briefs(knowsFirst, (*briefer).nowhere)},
		{"starts-the-errand-again", "One retry goes around all three tools, and a late failure asks again what had been answered.",
			testingRetries, "trajectory-at-most", briefs(noneTwice, (*briefer).again)},
		{"warms-up-at-home", "The weather at home is asked for as well, so that the first page has something to show.",
			testingRetries, "trajectory-exact", briefs(thisWay, (*briefer).warmsUp)},
		{"leaves-the-alerts-out", "Once something had to be tried again the alerts are left out to save time.",
			testingRetries, "trajectory-at-least", briefs(theseAtAll, (*briefer).hurries)},
		{"alerts-at-home-too", "An old request for the alerts at home was never taken out.",
			testingRetries, "trajectory-unordered", briefs(justThese, (*briefer).bothAlerts)},
		{"place-of-the-last-action", "The weather is asked for the place that is kept, and the city is looked up behind it.",
			testingRetries, "trajectory-in-order", briefs(thePlace, (*briefer).stale)},
	}
}

// briefs plugs in an agent and one promise.
func briefs(promise invariants.Invariant, do func(*briefer, context.Context) (briefing, error)) faultsim.Adapter {
	a := agents(policy(), failures(), nil)
	a.Name, a.Invariants = "briefing", []invariants.Invariant{promise}
	a.Want = briefing{forecast{Celsius: 19}, 2}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		b := &briefer{
			geo:     faultsim.Tool(s, "geo", func(context.Context, query) (spot, error) { return atPune, nil }, failures()),
			weather: faultsim.Tool(s, "weather", func(context.Context, spot) (forecast, error) { return forecast{Celsius: 19}, nil }, failures()),
			alerts:  faultsim.Tool(s, "alerts", func(context.Context, spot) (int, error) { return 2, nil }, failures()),
		}
		return func(ctx context.Context) (any, error) { return do(b, ctx) }
	}
	return a
}

// keepsAll is the right agent under every promise.
func keepsAll() faultsim.Adapter {
	a := briefs(knowsFirst, (*briefer).right)
	a.Invariants = append(a.Invariants, noneTwice, thisWay, theseAtAll, justThese, thePlace, invariants.Trajectory{Succeeded: true, Counted: invariants.SuccessfulAttempts}.Exact(stepGeo, stepWeather, stepAlerts))
	return a
}

// right asks one tool after the other.
func (b *briefer) right(ctx context.Context) (briefing, error) {
	at, err := withPatience(ctx, b.geo, pune)
	if err != nil {
		return briefing{}, err
	}
	return b.brief(ctx, at)
}

// brief asks for the weather of the place, and then for its alerts.
func (b *briefer) brief(ctx context.Context, at spot) (out briefing, err error) {
	if out.Weather, err = withPatience(ctx, b.weather, at); err != nil {
		return briefing{}, err
	}
	if out.Alerts, err = withPatience(ctx, b.alerts, at); err != nil {
		return briefing{}, err
	}
	return out, nil
}

func (b *briefer) nowhere(ctx context.Context) (briefing, error) {
	at, _ := withPatience(ctx, b.geo, pune)
	return b.brief(ctx, at)
}

func (b *briefer) again(ctx context.Context) (briefing, error) {
	return withPatience(ctx, func(ctx context.Context, q query) (out briefing, err error) {
		at, err := b.geo(ctx, q)
		if err != nil {
			return out, err
		}
		if out.Weather, err = b.weather(ctx, at); err != nil {
			return out, err
		}
		out.Alerts, err = b.alerts(ctx, at)
		return out, err
	}, pune)
}

func (b *briefer) warmsUp(ctx context.Context) (briefing, error) {
	if _, err := withPatience(ctx, b.weather, atHome); err != nil {
		return briefing{}, err
	}
	return b.right(ctx)
}

func (b *briefer) hurries(ctx context.Context) (out briefing, err error) {
	tried := 0
	count := func(ctx context.Context, at spot) (forecast, error) {
		tried++
		return b.weather(ctx, at)
	}
	at, err := withPatience(ctx, b.geo, pune)
	if err != nil {
		return out, err
	}
	if out.Weather, err = withPatience(ctx, count, at); err != nil {
		return briefing{}, err
	}
	out.Alerts = 2 // as on most days
	if tried == 1 {
		out.Alerts, err = withPatience(ctx, b.alerts, at)
	}
	return out, err
}

func (b *briefer) bothAlerts(ctx context.Context) (briefing, error) {
	if _, err := withPatience(ctx, b.alerts, atHome); err != nil {
		return briefing{}, err
	}
	return b.right(ctx)
}

func (b *briefer) stale(ctx context.Context) (briefing, error) {
	b.mu.Lock()
	at := b.last
	b.mu.Unlock()
	out, err := b.brief(ctx, at)
	if err != nil {
		return out, err
	}
	if at, err = withPatience(ctx, b.geo, pune); err != nil {
		return briefing{}, err
	}
	b.mu.Lock()
	b.last = at
	b.mu.Unlock()
	return out, nil
}

// withPatience is the right loop around any tool.
func withPatience[In, Out any](ctx context.Context, call func(context.Context, In) (Out, error), in In) (out Out, err error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		got, err := call(limited, in)
		cancel()
		if err == nil {
			return got, nil
		}
		if n == attempts || final(ctx, err) {
			return out, err
		}
		if err := sleep(ctx, wait); err != nil {
			return out, err
		}
		wait *= 2
	}
}
