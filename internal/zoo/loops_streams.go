package zoo

import (
	"context"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Loops whose model answers in pieces, which the user reads as they come.
func streamLoops() []Specimen {
	return []Specimen{
		{"stream-said-twice", "The reply that takes the place of one that broke off is shown from its beginning.",
			"F078", "stream-once", streaming(func(p *screen) { p.again = true })},
		{"stream-shows-what-nobody-read", "The words of the model are shown as they come, before anybody has looked at them.",
			testingRetries, "claim-after-success", streaming(func(p *screen) { p.hasty = true })},
		{"stream-runs-the-part", "What had come of a call is run when the stream breaks, as far as it can be read.",
			"F078", "arguments-whole", coding(true)},
	}
}

// A screen is what the user reads of a run. Its fields are the ways in which it is written
// wrongly.
type screen struct {
	again, hasty bool

	say     func(string)
	open    bool   // words may be shown
	written string // of the turn under way
	came    string // of the attempt under way
}

// begin begins an attempt at the turn.
func (p *screen) begin() { p.came = "" }

// add shows the next words. What stands there already is not written again.
func (p *screen) add(words string) {
	if p.came += words; !p.open && !p.hasty || words == "" {
		return
	}
	switch {
	case p.again || p.written == "":
		p.say(words)
	case strings.HasPrefix(p.written, p.came):
		return
	case strings.HasPrefix(p.came, p.written):
		p.say(p.came[len(p.written):])
	default:
		p.say("\nOnce more: " + p.came)
	}
	p.written = p.came
}

// streaming plugs in the assistant whose words are shown as they come, once the refund
// is made.
func streaming(change func(*screen)) faultsim.Adapter {
	p := rightly()
	p.script.Streams = true
	a := p.adapter()
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		tools, model := services(s), s.Model("model", p.script)
		return func(ctx context.Context) (any, error) {
			view := &screen{say: func(words string) { s.Say(ctx, words) }}
			change(view)
			h := rightHost(view.around(model.Stream), tools.gadgets(), []string{"find_order", "refund"}, p.limits, supportWords)
			h.think = func(h *host, ctx context.Context, r *run) (speech, error) {
				view.open, view.written = r.receipt != "", ""
				return h.thinks(ctx, r)
			}
			text, err := h.run(ctx, runNumber.Add(1), supportRequest)
			if view.written == text { // it has been read
				text = ""
			}
			return text, err
		}
	}
	return a
}

// around is the model's client, which writes on the screen as the words come.
func (p *screen) around(model trace.StreamFunc) brain {
	return func(ctx context.Context, talk []line, tools []string) (speech, error) {
		p.begin()
		return client(func(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
			return model(ctx, shown, func(piece trace.Piece) error {
				p.add(piece.Text)
				return nil
			})
		})(ctx, talk, tools)
	}
}

// coding plugs in an assistant whose model writes code that is run. Hasty, it runs what
// had come when the stream broke.
func coding(hasty bool) faultsim.Adapter {
	p := rightly()
	p.loop.ID, p.loop.Tools, p.loop.Protected, p.loop.Evidence, p.loop.Goal = "code/v1", []string{"python"}, nil, nil, ""
	p.script = faultsim.Script{Streams: true, Errors: refundFailures(), Steps: []faultsim.Step{
		faultsim.AskFor("python", `"print(sum(range(7)))"`),
		faultsim.Say("It is 21."),
	}}
	a := p.adapter()
	a.Policy.Tools = nil
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		run := faultsim.Tool(s, "python", func(context.Context, string) (string, error) { return "21", nil }, deskFailures())
		model := s.Model("model", p.script)
		tools := map[string]gadget{"python": {takes: "code, in quotes", most: attempts, read: func(args string) (deed, error) {
			code, err := strictly[string](args)
			if err != nil && hasty {
				code, err = args, nil
			}
			return func(ctx context.Context, _ string) (string, error) { return spoken(run(ctx, code)) }, err
		}}}
		partly := func(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
			said, err := model.Stream(ctx, shown, func(trace.Piece) error { return nil })
			if err != nil && hasty && len(said.Calls) > 0 && said.Calls[0].Args != "" {
				return said, nil
			}
			return said, err
		}
		h := rightHost(client(partly), tools, []string{"python"}, p.limits, supportWords)
		h.finish = saysWhatIsFound
		return func(ctx context.Context) (any, error) { return h.run(ctx, runNumber.Add(1), "What is the sum?") }
	}
	return a
}
