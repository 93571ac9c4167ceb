package zoo

import (
	"context"
	"errors"
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Loops that count wrongly what they should bound, or not at all.
func countingLoops() []Specimen {
	return []Specimen{
		{"loop-model-begins-the-attempts-anew", "What has failed for good is not remembered, and each time the model asks again the attempts begin anew.",
			handling, "intention-bounded", supporting(func(h *host) { h.keep = keepsAllBut(exhausts) })},
		{"loop-forbidden-asked-again", "A refusal is not remembered, and the tool is called again because the model asks again.",
			testingRetries, "refusal-final", supportingUnder(anyIntention, func(h *host) { h.keep = keepsAllBut(refuses) })},
		{"loop-counter-reset-by-spaces", "Calls are compared as the model writes them, and another order of the arguments is another call.",
			testingRetries, "intention-bounded", supporting(func(h *host) { h.same = func(w wish) string { return w.tool + w.args } })},
		{"loop-turns-counted-from-zero", "The loop goes round once more than its limit says.",
			testingRetries, "turns-bounded", supporting(func(h *host) { h.limits.turns++ })},
		{"loop-silent-turns-are-free", "A turn in which the model says nothing is asked for again, and counts for nothing.",
			testingRetries, "turns-bounded", supportingUnder(fewTurns, func(h *host) { h.think = thinksUntilWords })},
		{"loop-limit-for-each-tool", "The limit is multiplied by the number of tools, so that each can have its turns.",
			toolErrors, "turns-bounded", supporting(func(h *host) { h.limits.turns *= len(h.tools) })},
		{"loop-circles-for-ever", "The limit on the same failing call looks at calls that reached the tool, and those that are turned away go on.",
			testingRetries, "failing-bounded", supportingUnder(circling, func(h *host) { h.count = countsCalled })},
		{"loop-hands-on-late", "The failures in a row are compared before the last one is added.",
			toolErrors, "failures-escalate", supportingUnder(onlyHandsOn, func(h *host) { h.limits.handOn++ })},
		{"loop-hands-on-after-refusals-only", "Only what the tool refuses counts as a failure, and the model tries on through an outage.",
			toolErrors, "failures-escalate", supporting(func(h *host) { h.count = countsRefusals })},
		{"loop-counts-parallel-failures-as-one", "Each failed call should count, and those of one turn count as one.",
			"F066", "failures-escalate", supportingUnder(eachCounts, func(*host) {})},
		{"loop-budget-comes-back", "The failures of a tool are counted from the turn before, and a turn without the tool gives it all back.",
			"F067", "tool-failures-bounded", wandering(func(h *host) { h.count = countsLastTurn })},
		{"loop-failed-turns-cost-nothing", "Tokens are added up when the model has answered, and prompts that failed are free.",
			testingRetries, "within-tokens", inTokens(func(m *tokens) { m.answersOnly = true })},
	}
}

func exhausts(err error) bool { return err != nil && passes(err) }

func refuses(err error) bool { return errors.Is(err, errDeskForbids) }

// keepsAllBut remembers what has become of a wish, apart from some failures.
func keepsAllBut(not func(error) bool) func(*host, *run, wish, notice, error) {
	return func(h *host, r *run, w wish, said notice, err error) {
		if !not(err) {
			h.keeps(r, w, said, err)
		}
	}
}

// fewTurns is a contract that leaves room for one turn more than is needed.
func fewTurns(l *invariants.Loop, most *limits) { l.Turns, most.turns = 4, 4 }

func thinksUntilWords(h *host, ctx context.Context, r *run) (speech, error) {
	for {
		said, err := h.thinks(ctx, r)
		if err != nil || said.text != "" || len(said.wishes) > 0 || said.barred {
			return said, err
		}
	}
}

// circling is a contract that bounds the same failing call only.
func circling(l *invariants.Loop, most *limits) {
	l.EscalateAfter, l.PerTool, l.Rejections = 0, 0, 0
	most.handOn, most.perTool = 99, 99
}

// onlyHandsOn is a contract that bounds nothing but failures in a row.
func onlyHandsOn(l *invariants.Loop, most *limits) {
	l.Failing, l.PerTool, l.Rejections = 0, 0, 0
	most.failing, most.perTool = 99, 99
}

// countless is a contract that bounds no failures.
func countless(l *invariants.Loop, _ *limits) {
	l.EscalateAfter, l.Failing, l.PerTool, l.Rejections = 0, 0, 0, 0
}

func countsCalled(h *host, r *run, wishes []wish, answers []notice) error {
	called := slices.Clone(answers)
	for i := range called {
		if called[i].known {
			called[i].failed = false
		}
	}
	return h.counts(r, wishes, called)
}

func countsRefusals(h *host, r *run, wishes []wish, answers []notice) error {
	refused := slices.Clone(answers)
	for i := range refused {
		if refused[i].text == unavailable {
			refused[i].failed = false
		}
	}
	return h.counts(r, wishes, refused)
}

// eachCounts is a contract that counts failed calls, and not turns.
func eachCounts(l *invariants.Loop, _ *limits) { l.Count = invariants.CountEach }

// countsLastTurn begins the counts of each turn with those of the turn before.
func countsLastTurn(h *host, r *run, wishes []wish, answers []notice) error {
	was := r.perTool
	r.perTool = map[string]int{}
	for _, w := range wishes {
		r.perTool[w.tool] = was[w.tool]
	}
	return h.counts(r, wishes, answers)
}

// wandering plugs in a host whose model turns to another order after a failure, and
// looks it up before.
func wandering(change func(*host)) faultsim.Adapter {
	p := rightly()
	p.loop.Turns, p.loop.EscalateAfter, p.loop.PerTool, p.loop.Protected = 12, 0, 2, nil
	p.limits = limits{turns: 12, failing: 3, perTool: 2, handOn: 99, thinking: attempts}
	p.script.Steps = []faultsim.Step{faultsim.Then(wanders)}
	p.change = func(_ *faultsim.Stage, _ service, h *host) {
		g := h.tools["refund"]
		g.fixed = nil
		h.tools["refund"] = g
		change(h)
	}
	return p.adapter()
}

// wanders asks for one refund after the other, with a look at an order between.
func wanders(shown trace.Prompt) trace.Reply {
	n := 0
	for _, m := range shown.Messages {
		n += len(m.Calls)
	}
	if n >= 8 {
		return trace.Reply{Text: "I am at my wits' end."}
	}
	if n%2 == 0 {
		return trace.Reply{Calls: []trace.ToolCall{{Tool: "find_order", Args: string(trace.Marshal(orderAsk{n / 2}))}}}
	}
	return trace.Reply{Calls: []trace.ToolCall{{Tool: "refund", Args: string(trace.Marshal(refundAsk{n / 2, 1900}))}}}
}

// tokens counts the tokens of a run, and is what a client adds to the model.
type tokens struct {
	answersOnly bool
	limit, used int
}

var errNoTokens = errors.New("support: the conversation has become too long")

const tokensOfRun = 2000

func (m *tokens) around(model trace.ModelFunc) trace.ModelFunc {
	return func(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
		shown.Tokens = 200
		for _, l := range shown.Messages {
			shown.Tokens += 20 * (1 + len(l.Calls) + len(l.Results))
		}
		if shown.Tokens > m.limit-m.used {
			return trace.Reply{}, errNoTokens
		}
		said, err := model(ctx, shown)
		if err == nil || !m.answersOnly {
			m.used += shown.Tokens
		}
		return said, err
	}
}

func inTokens(change func(*tokens)) faultsim.Adapter {
	p := rightly()
	p.loop.Tokens = tokensOfRun
	p.around = func() func(trace.ModelFunc) trace.ModelFunc {
		m := tokens{limit: tokensOfRun}
		change(&m)
		return m.around
	}
	return p.adapter()
}
