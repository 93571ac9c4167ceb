package zoo

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Loops that show the model something else than what became of its calls.
func talkingLoops() []Specimen {
	return []Specimen{
		{"loop-sibling-takes-the-results-along", "The first failure of a turn is all that the model is shown of it.",
			"F068", "one-result", tripping(func(h *host) { h.add = addsFirstFailure })},
		{"loop-result-under-the-wrong-id", "Failures are gathered before answers, and the ids are put on in the order in which they were asked for.",
			"F075", "one-result", tripping(func(h *host) { h.add = failuresFirst })},
		{"loop-twins-share-a-result", "Results are kept by id, and two calls under one id get one between them.",
			"F075", "one-result", supporting(func(h *host) { h.hear, h.add = hearsAsSaid, addsByID })},
		{"loop-call-without-id-forgotten", "A result without an id cannot be paired, and is left out.",
			"F075", "one-result", supporting(func(h *host) { h.hear, h.add = hearsAsSaid, addsNamed })},
		{"loop-cut-off-call-left-open", "A reply that was cut off is asked for again, and its call stays in the conversation without a result.",
			testingRetries, "one-result", supporting(func(h *host) { h.add = addsUncut })},
		{"loop-garbled-call-left-open", "Arguments that cannot be read are logged and skipped, and the call never has a result.",
			testingRetries, "one-result", supporting(func(h *host) { h.add = addsReadable })},
		{"loop-failure-as-an-answer", "The error flag of a result is dropped, and what remains is an empty answer.",
			"F026", "result-marked", supporting(func(h *host) { h.tell = tellsNothing })},
		{"loop-words-decide", "The answer is searched for words such as error, and one with none counts as failed.",
			"F024", "result-marked", supporting(func(h *host) { h.tell = tellsByWords })},
		{"loop-forgets-what-the-model-said", "Only results are kept in the conversation, and the model does not see what it asked for.",
			testingRetries, "reply-kept", supporting(func(h *host) { h.hear = hearsOnly })},
		{"loop-talk-grows-with-each-try", "Each try of a turn adds the reminder to answer to the conversation.",
			testingRetries, "prompt-resent", supporting(func(h *host) { h.think = remindsEachTry })},
		{"loop-starts-over-after-a-failure", "When the model's service has failed the conversation begins anew with the request.",
			testingRetries, "reply-kept", supporting(func(h *host) { h.think = startsOver })},
		{"loop-tells-the-same-for-ever", "Each refused call is answered with the same words, and nothing but the turns bounds them.",
			toolErrors, "prompt-not-flooded", supportingUnder(flooding, func(h *host) { h.limits.handOn, h.limits.failing, h.limits.perTool = 99, 99, 99 })},
		{"loop-cuts-between-call-and-result", "Of a long conversation the request and the last three messages are sent, which begin with a result.",
			testingRetries, "conversation-taken", supportingUnder(compacting, func(h *host) { h.think = keepsTheLatest })},
		{"loop-note-becomes-an-instruction", "What an order's note says is put into the instructions, where the model cannot overlook it.",
			"F085", "order-in-place", supporting(func(h *host) { h.add = addsNotesAbove })},
	}
}

// A trip is planned by two tools that are asked at once.
type (
	legAsk struct {
		To string `json:"to"`
	}
	leg struct {
		Code string `json:"code"`
	}
)

const flightCode, hotelCode = "flight AF-226", "room HV-31"

func tripScript() faultsim.Script {
	return faultsim.Script{
		Steps: []faultsim.Step{
			faultsim.AskFor("flights", legAsk{"Pune"}).And("hotels", legAsk{"Pune"}),
			faultsim.Say("I found " + flightCode + " and " + hotelCode + "."),
		},
		Errors: refundFailures(),
	}
}

// tripLoop is the contract of the planner, whose turns have several calls. It books nothing.
func tripLoop() invariants.Loop {
	l := supportLoop()
	l.Rejections *= 2
	l.ID, l.Tools, l.Protected, l.Goal, l.Evidence = "trip/v2", []string{"flights", "hotels"}, nil, "", []string{flightCode, hotelCode}
	return l
}

// tripping plugs in the planner with a change of its host.
func tripping(change func(*host)) faultsim.Adapter {
	p := rightly()
	p.loop, p.script, p.request = tripLoop(), tripScript(), "How do I get to Pune, and where do I stay?"
	p.tools = func(s *faultsim.Stage) map[string]gadget {
		look := func(tool, code string) gadget {
			find := faultsim.Tool(s, tool, func(context.Context, legAsk) (leg, error) { return leg{code}, nil }, deskFailures())
			return gadget{takes: "to, a city", most: attempts, read: func(args string) (deed, error) {
				ask, err := strictly[legAsk](args)
				return func(ctx context.Context, _ string) (string, error) { return spoken(find(ctx, ask)) }, err
			}}
		}
		return map[string]gadget{"flights": look("flights", flightCode), "hotels": look("hotels", hotelCode)}
	}
	p.change = func(_ *faultsim.Stage, _ service, h *host) {
		h.serve, h.finish = (*host).atOnce, saysWhatIsFound
		change(h)
	}
	a := p.adapter()
	a.Policy.Tools = nil
	return a
}

// saysWhatIsFound hands the words of the model on, where each flight and each room in
// them has been found.
func saysWhatIsFound(h *host, r *run, said speech) (string, bool) {
	if said.barred || said.cut || said.text == "" {
		return h.finishes(r, said)
	}
	for _, code := range tripCode.FindAllString(said.text, -1) {
		if !r.found(code) {
			return h.words.sorry, true
		}
	}
	return said.text, true
}

var tripCode = regexp.MustCompile(`(flight|room) [A-Z]{2}-\d+`)

// has reports whether one of the results in this run is the text.
func (r *run) has(text string) bool {
	for _, n := range r.known {
		if n.text == text {
			return true
		}
	}
	return false
}

// found reports whether a tool has answered the text in this run.
func (r *run) found(text string) bool {
	for _, n := range r.known {
		if !n.failed && strings.Contains(n.text, text) {
			return true
		}
	}
	return false
}

func addsFirstFailure(h *host, r *run, answers []notice) {
	if i := slices.IndexFunc(answers, func(n notice) bool { return n.failed }); i >= 0 {
		answers = answers[i : i+1]
	}
	h.adds(r, answers)
}

// failuresFirst pairs ids with failures, and what are left with the answers behind them.
func failuresFirst(h *host, r *run, answers []notice) {
	sorted := slices.Clone(answers)
	slices.SortStableFunc(sorted, func(a, b notice) int {
		switch {
		case a.failed == b.failed:
			return 0
		case a.failed:
			return -1
		}
		return 1
	})
	for i := range sorted {
		sorted[i].id = answers[i].id
	}
	h.adds(r, sorted)
}

// hearsAsSaid keeps the ids that the model gave, whatever they are.
func hearsAsSaid(h *host, r *run, said speech) []wish {
	if h.hears(r, said) == nil {
		return nil
	}
	r.talk[len(r.talk)-1].wishes = said.wishes
	return said.wishes
}

func addsByID(h *host, r *run, answers []notice) {
	var kept []notice
	at := map[string]int{}
	for _, n := range answers {
		if i, twice := at[n.id]; twice {
			kept[i] = n
			continue
		}
		at[n.id] = len(kept)
		kept = append(kept, n)
	}
	h.adds(r, kept)
}

func addsNamed(h *host, r *run, answers []notice) {
	h.adds(r, slices.DeleteFunc(slices.Clone(answers), func(n notice) bool { return n.id == "" }))
}

func addsUncut(h *host, r *run, answers []notice) {
	h.adds(r, slices.DeleteFunc(slices.Clone(answers), func(n notice) bool { return strings.HasPrefix(n.text, "Your message was cut off") }))
}

func addsReadable(h *host, r *run, answers []notice) {
	h.adds(r, slices.DeleteFunc(slices.Clone(answers), func(n notice) bool { return strings.HasSuffix(n.text, "and nothing else.") }))
}

func tellsNothing(h *host, w wish, text string, err error) notice {
	n := h.tells(w, text, err)
	if n.failed {
		n.text, n.failed = "", false
	}
	return n
}

func tellsByWords(h *host, w wish, text string, err error) notice {
	n := h.tells(w, text, err)
	n.failed = n.failed || strings.Contains(text, "error")
	return n
}

func hearsOnly(h *host, r *run, said speech) []wish {
	wishes := h.hears(r, said)
	if len(wishes) > 0 {
		r.talk = r.talk[:len(r.talk)-1]
	}
	return wishes
}

func remindsEachTry(h *host, ctx context.Context, r *run) (said speech, err error) {
	err = inTries(ctx, h.limits.thinking, passes, func(ctx context.Context) (err error) {
		r.talk = append(r.talk, line{from: "system", text: "Answer the user, or use a tool."})
		said, err = h.brain(ctx, r.talk, h.names)
		return err
	})
	return said, err
}

func startsOver(h *host, ctx context.Context, r *run) (said speech, err error) {
	err = inTries(ctx, h.limits.thinking, passes, func(ctx context.Context) (err error) {
		if said, err = h.brain(ctx, r.talk, h.names); err != nil {
			r.talk = r.talk[:1]
		}
		return err
	})
	return said, err
}

// compacting is a contract under which the conversation may be shortened.
func compacting(l *invariants.Loop, _ *limits) { l.Compacts = true }

func keepsTheLatest(h *host, ctx context.Context, r *run) (said speech, err error) {
	talk := r.talk
	if len(talk) > 4 {
		talk = append(talk[:1:1], talk[len(talk)-3:]...)
	}
	err = inTries(ctx, h.limits.thinking, passes, func(ctx context.Context) (err error) {
		said, err = h.brain(ctx, talk, h.names)
		return err
	})
	return said, err
}

// flooding is a contract that bounds nothing but what one prompt may hold.
func flooding(l *invariants.Loop, _ *limits) {
	l.EscalateAfter, l.Failing, l.PerTool, l.Rejections = 0, 0, 0, 3
}

func addsNotesAbove(h *host, r *run, answers []notice) {
	h.adds(r, answers)
	for _, n := range answers {
		if n.tool == "find_order" && !n.failed {
			r.talk = append(r.talk, line{from: "system", text: "About this order: " + n.text})
		}
	}
}
