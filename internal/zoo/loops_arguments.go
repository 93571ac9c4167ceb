package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Loops that call what nobody asked for, or with other arguments.
func wishingLoops() []Specimen {
	return []Specimen{
		{"loop-garbled-arguments-run", "Arguments that cannot be read are taken for none, and the tool is called with zero values.",
			testingRetries, "arguments-whole", supporting(readsLoosely(func(args string) string {
				if json.Valid([]byte(args)) {
					return args
				}
				return `{"order":0}`
			}))},
		{"loop-repairs-arguments", "A reply that was cut off is mended by a reader that closes what is open.",
			"F078", "arguments-whole", supporting(func(h *host) { readsLoosely(closes)(h); h.hear = hearsCut })},
		{"loop-unknown-tool-panics", "The tool is looked up and called, and the name that the model invents is in no registry.",
			testingRetries, "no-panic", supporting(func(h *host) { h.admit = admitsAll })},
		{"loop-falls-back-on-what-is-not-allowed", "In an outage of the refunds the amount is given as a voucher, with a tool that the run may not use.",
			testingRetries, "allowed-tools", supportingWith(givesVoucher)},
		{"loop-calls-what-it-has", "What the model asks for is looked up among all tools of the shop, and not among those that it was offered.",
			testingRetries, "allowed-tools", supportingWith(hasGoodwill)},
		{"loop-calls-what-is-not-offered", "Refunds are taken out of the offer, and made all the same when the model asks for one.",
			testingRetries, "tools-offered", supportingUnder(countless, func(h *host) { h.names = []string{"find_order"} })},
		{"loop-amount-changed-after-a-failure", "After a failed refund the model asks for another amount, and gets it.",
			testingRetries, "protected-in-run", supporting(unpinned)},
		{"loop-rounds-the-amount", "The amount is rounded to what the bank takes, on the way to it.",
			testingRetries, "protected-in-run", supportingWith(rounds)},
		{"loop-obeys-the-error", "Where an error names a parameter the call is repeated with it.",
			testingRetries, "order-ignored", supportingWith(addsWhatTheErrorSays)},
		{"loop-error-becomes-an-input", "The last result is filled in for a placeholder, that of a failed call too.",
			"F070", "error-not-input", chaining(fillsAnything)},
		{"loop-key-for-each-attempt", "The key of a refund has the time in it, and each attempt is another refund for the bank.",
			retrySafe, "one-key", supporting(func(h *host) { h.attempt = keyedByTime })},
		{"loop-key-for-each-ask", "The key of a refund is made of the id that the model gave, and asked again it is another refund for the bank.",
			retrySafe, "one-key", supportingUnder(anyIntention, func(h *host) {
				h.key = func(_ *run, w wish) string { return w.tool + w.id }
				h.keep = keepsAllBut(exhausts)
			})},
		{"loop-tool-tried-without-end", "The attempts of a call are bounded by the turns only, since the model will notice.",
			handling, "attempts-bounded", supportingUnder(anyIntention, func(h *host) { manyAttempts(h, "find_order") })},
	}
}

// supportingWith plugs in the assistant with a change that needs the tools.
func supportingWith(change func(service, *host)) faultsim.Adapter {
	p := rightly()
	p.change = func(_ *faultsim.Stage, tools service, h *host) { change(tools, h) }
	return p.adapter()
}

// readsLoosely puts a repair in front of what reads arguments.
func readsLoosely(mend func(string) string) func(*host) {
	return func(h *host) {
		for name, g := range h.tools {
			read := g.read
			g.read = func(args string) (deed, error) { return read(mend(args)) }
			h.tools[name] = g
		}
	}
}

// closes cuts off what cannot be mended, and closes the object.
func closes(args string) string {
	for cut := args; !json.Valid([]byte(args)) && cut != ""; {
		i := strings.LastIndexAny(cut, ",{")
		if i < 0 {
			break
		}
		if cut = cut[:i]; json.Valid([]byte(cut + "}")) {
			return cut + `,"cents":1900}`
		}
	}
	return args
}

// hearsCut does not look at why a reply ends.
func hearsCut(h *host, r *run, said speech) []wish {
	said.cut = false
	return h.hears(r, said)
}

func admitsAll(h *host, r *run, w wish) (deed, *notice) {
	g := h.tools[w.tool]
	if do, err := g.read(w.args); err == nil && len(r.known) == 0 {
		return do, nil
	}
	return h.admits(r, w)
}

func givesVoucher(tools service, h *host) {
	h.attempt = func(h *host, ctx context.Context, g gadget, do deed, key string) (string, error) {
		text, err := h.attempts(ctx, g, do, key)
		if g.goal && ctx.Err() == nil && errors.Is(err, errDeskDown) {
			return spoken(tools.goodwill(ctx, refundAsk{7, 1900}))
		}
		return text, err
	}
}

func hasGoodwill(tools service, h *host) {
	h.tools["goodwill"] = gadget{takes: "order and cents", most: attempts, read: func(args string) (deed, error) {
		var ask refundAsk
		err := json.Unmarshal([]byte(args), &ask)
		return func(ctx context.Context, _ string) (string, error) { return spoken(tools.goodwill(ctx, ask)) }, err
	}}
}

func unpinned(h *host) {
	g := h.tools["refund"]
	g.fixed = nil
	h.tools["refund"] = g
}

func rounds(tools service, h *host) {
	g := h.tools["refund"]
	g.read = func(args string) (deed, error) {
		ask, err := strictly[refundAsk](args)
		ask.Cents = ask.Cents / 1000 * 1000
		return func(ctx context.Context, key string) (string, error) {
			return spoken(tools.refund(ctx, refundCall{refundAsk: ask, Key: key}))
		}, err
	}
	h.tools["refund"] = g
}

func addsWhatTheErrorSays(tools service, h *host) {
	g := h.tools["refund"]
	g.read = func(args string) (deed, error) {
		ask, err := strictly[refundAsk](args)
		call := refundCall{refundAsk: ask}
		return func(ctx context.Context, key string) (string, error) {
			call.Key = key
			out, err := tools.refund(ctx, call)
			if err != nil && strings.Contains(err.Error(), "admin=true") {
				call.Admin = true
			}
			return spoken(out, err)
		}, err
	}
	h.tools["refund"] = g
}

// keyedByTime makes a key for each attempt.
func keyedByTime(h *host, ctx context.Context, g gadget, do deed, key string) (string, error) {
	return h.attempts(ctx, g, func(ctx context.Context, key string) (string, error) {
		return do(ctx, key+time.Now().Format(time.StampNano))
	}, key)
}

func manyAttempts(h *host, tool string) {
	g := h.tools[tool]
	g.most = 16
	h.tools[tool] = g
}

// A note is written of what another tool has found; $last stands for it.
type noteAsk struct {
	Text string `json:"text"`
}

// chaining plugs in an assistant that hands the result of one call to the next.
func chaining(fill func(last notice, args string) string) faultsim.Adapter {
	p := rightly()
	p.loop.ID, p.loop.Tools, p.loop.Protected, p.loop.Evidence, p.loop.Goal = "notes/v1", []string{"find_order", "note"}, nil, nil, "note"
	countless(&p.loop, nil)
	p.script.Steps = []faultsim.Step{faultsim.Then(takesNotes)}
	p.request = "Write down what order 7 is about."
	p.tools = func(s *faultsim.Stage) map[string]gadget {
		tools := services(s).gadgets()
		write := faultsim.Tool(s, "note", func(context.Context, noteAsk) (string, error) { return "written", nil }, deskFailures())
		delete(tools, "refund")
		tools["note"] = gadget{takes: "text", most: attempts, goal: true, read: func(args string) (deed, error) {
			ask, err := strictly[noteAsk](args)
			return func(ctx context.Context, _ string) (string, error) { return spoken(write(ctx, ask)) }, err
		}}
		return tools
	}
	p.change = func(_ *faultsim.Stage, _ service, h *host) {
		var last notice
		var said error
		h.keep = func(h *host, r *run, w wish, told notice, err error) {
			if last, said = told, err; said != nil {
				last.text = said.Error()
			}
			h.keeps(r, w, told, err)
		}
		h.admit = func(h *host, r *run, w wish) (deed, *notice) {
			if before, known := r.known[h.same(w)]; known {
				before.id = w.id
				return nil, &before
			}
			if strings.Contains(w.args, "$last") {
				w.args = strings.ReplaceAll(w.args, "$last", fill(last, w.args))
			}
			return h.admits(r, w)
		}
	}
	a := p.adapter()
	a.Policy.Tools = nil
	return a
}

func fillsAnything(last notice, _ string) string {
	quoted, _ := json.Marshal(last.text)
	return strings.Trim(string(quoted), `"`)
}

// takesNotes looks an order up and has written down what comes of it, whatever it is.
func takesNotes(shown trace.Prompt) trace.Reply {
	switch n := len(shown.Messages); {
	case n < 3:
		return trace.Reply{Calls: []trace.ToolCall{{Tool: "find_order", Args: `{"order":7}`}}}
	case n < 5:
		return trace.Reply{Calls: []trace.ToolCall{{Tool: "note", Args: `{"text":"Order 7: $last"}`}}}
	}
	return trace.Reply{Text: "That is all that I know."}
}
