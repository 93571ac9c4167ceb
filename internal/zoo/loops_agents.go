package zoo

import (
	"context"
	"errors"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Loops that hand tasks to another loop.
func agentLoops() []Specimen {
	return []Specimen{
		{"agent-asked-again", "A researcher that has tried everything is asked again, because its end is not remembered.",
			testingRetries, "refusal-final", planning(func(p *planner) { p.forgets = true })},
		{"agents-each-retry", "The planner repeats what fails, the researcher too, and a failure of one tool is nine calls.",
			"F050", "intention-bounded", planning(func(p *planner) { p.repeats = true })},
		{"agent-kept-from-the-cancel", "The researcher has a context of its own, and works on when the user has left.",
			handling, "no-attempt-after-cancel", planning(func(p *planner) { p.apart = true })},
	}
}

// A planner hands the search for a flight to a researcher. Its fields are the ways in
// which it does so wrongly.
type planner struct{ forgets, repeats, apart bool }

// How a researcher ends that finds nothing.
var (
	errNoFlight  = errors.New("researcher: no flight found")
	errNoFlights = errors.New("researcher: the flights cannot be looked up")
)

// sharedNotes is where the context has what became of each wish, for all researchers of
// a run.
type sharedNotes struct{}

func planning(change func(*planner)) faultsim.Adapter {
	var p planner
	change(&p)
	plan := rightly()
	plan.loop, plan.request = tripLoop(), "How do I get to Pune?"
	plan.loop.Tools, plan.loop.Evidence, plan.loop.Failing = nil, []string{flightCode}, 0
	a := plan.adapter()
	a.Policy.Tools = nil
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		h := rightHost(client(s.Model("planner's model", wishesFor("researcher")).Reply), map[string]gadget{"researcher": {takes: "to, a city", most: 1}}, []string{"researcher"}, plan.limits, supportWords)
		h.finish = saysWhatIsFound
		p.hands(h, faultsim.Agent(s, "researcher", researcher(s, plan.limits)))
		return func(ctx context.Context) (any, error) {
			if !p.forgets && !p.repeats {
				ctx = context.WithValue(ctx, sharedNotes{}, map[string]notice{})
			}
			return h.run(ctx, runNumber.Add(1), plan.request)
		}
	}
	return a
}

func wishesFor(tool string) faultsim.Script {
	return faultsim.Script{Errors: refundFailures(), Steps: []faultsim.Step{
		faultsim.AskFor(tool, legAsk{"Pune"}),
		faultsim.Say("I found " + flightCode + "."),
	}}
}

// hands makes the researcher a tool of the host.
func (p planner) hands(h *host, ask func(context.Context, legAsk) (string, error)) {
	h.tools["researcher"] = gadget{takes: "to, a city", most: 1, read: func(args string) (deed, error) {
		task, err := strictly[legAsk](args)
		return func(ctx context.Context, _ string) (string, error) {
			if p.apart {
				ctx = context.WithoutCancel(ctx)
			}
			return ask(ctx, task)
		}, err
	}}
	// How long a task takes is the researcher's business.
	h.attempt = func(_ *host, ctx context.Context, _ gadget, do deed, key string) (text string, err error) {
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			if text, err = do(ctx, key); err == nil || !p.repeats || n == attempts || !errors.Is(err, errNoFlights) {
				return text, err
			}
			if err := sleep(ctx, base); err != nil {
				return "", err
			}
		}
	}
	if p.forgets {
		h.keep = keepsAllBut(func(err error) bool { return err != nil })
	}
}

// researcher is a loop of its own, with a model of its own.
func researcher(s *faultsim.Stage, most limits) func(context.Context, legAsk) (string, error) {
	flights := faultsim.Tool(s, "flights", func(context.Context, legAsk) (leg, error) { return leg{flightCode}, nil }, deskFailures())
	h := rightHost(client(s.Model("researcher's model", wishesFor("flights")).Reply), map[string]gadget{
		"flights": {takes: "to, a city", most: attempts, read: func(args string) (deed, error) {
			ask, err := strictly[legAsk](args)
			return func(ctx context.Context, _ string) (string, error) { return spoken(flights(ctx, ask)) }, err
		}},
	}, []string{"flights"}, most, supportWords)
	h.finish = saysWhatIsFound
	return func(ctx context.Context, task legAsk) (string, error) {
		r := newRun(runNumber.Add(1), "Find a flight to "+task.To+".")
		if notes, ok := ctx.Value(sharedNotes{}).(map[string]notice); ok {
			r.known = notes
		}
		_, err := h.converse(ctx, r)
		switch {
		case r.found(flightCode):
			return flightCode, nil
		case err != nil:
			return "", err
		case r.has(unavailable):
			return "", errNoFlights
		}
		return "", errNoFlight
	}
}
