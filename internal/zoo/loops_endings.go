package zoo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/invariants"
)

// Loops that tell the user what is not so, or what they should not know, or do not
// end where they should.
func endingLoops() []Specimen {
	return []Specimen{
		{"loop-passes-the-claim-on", "The model says that it is done, and the user is told so.",
			testingRetries, "claim-after-success", supportingUnder(noEvidence, func(h *host) { h.finish = saysAnything })},
		{"loop-limit-told-as-success", "Where the turns are used up the user is told that all is well.",
			testingRetries, "claim-after-success", supporting(func(h *host) { h.stop = stopsWell })},
		{"loop-limit-told-as-an-answer", "A planner whose turns are used up says that all is done, and nobody sees that it is not.",
			testingRetries, "guard-stop", tripping(func(h *host) { h.stop = stopsWell })},
		{"loop-limit-returns-nothing", "Where a limit ends the run an empty answer is returned, and no error.",
			testingRetries, "guard-stop", supporting(func(h *host) { h.stop = stopsSilent(errTurns, errStuck, errHandedOn) })},
		{"loop-model-down-is-no-answer", "The error of the model's service is logged, and the run returns as if there were nothing to say.",
			handling, "failure-told", supporting(func(h *host) { h.stop = stopsSilent() })},
		{"loop-filter-ends-in-silence", "The provider refuses to answer, and the empty reply is handed to the user.",
			testingRetries, "failure-told", supporting(func(h *host) { h.finish = saysWhatCame })},
		{"loop-answer-of-the-run-before", "The receipt is kept with the assistant, and the next run says it before it has one.",
			testingRetries, "evidence-first", supportingUnder(noGoal, keepsReceipt)},
		{"loop-fills-in-what-is-missing", "Where a lookup failed the plan is filled in with what is usual.",
			testingRetries, "evidence-first", tripping(func(h *host) { h.finish = fillsIn })},
		{"loop-raw-error-to-the-user", "The words of the last failure are appended to the apology.",
			toolErrors, "user-raw-error", supporting(quotesFailure)},
		{"loop-parrots-a-secret", "The model is shown the raw error, and what it makes of it is shown to the user.",
			testingRetries, "user-raw-error", tripping(func(h *host) { h.tell = tellsRaw })},
		{"loop-secret-in-the-apology", "The last word of an error is the request's number as a rule, and now and then a key.",
			testingRetries, "user-secret", supporting(quotesEnd)},
		{"loop-works-on-after-the-goal", "After the refund the loop serves what the model asks for next, as before.",
			testingRetries, "stop-after-goal", supportingUnder(anyIntention, func(h *host) { h.admit, h.keep = admitsAlways, keepsAllBut(func(err error) bool { return err == nil }) })},
		{"loop-goes-on-after-the-cancel", "Turns of the model are kept apart from the caller's cancel, so that what was paid for is not lost.",
			handling, "no-attempt-after-cancel", supporting(func(h *host) { h.think = thinksApart })},
		{"loop-sibling-left-at-work", "The results of a turn are taken up to the first failure, and the calls behind it wait for ever to hand theirs over.",
			"F076", "nothing-left", tripping(func(h *host) { h.serve = readsToTheFirstFailure })},
	}
}

func saysAnything(h *host, r *run, said speech) (string, bool) {
	if said.barred || said.cut || said.text == "" || strings.HasPrefix(said.text, "{") {
		return h.finishes(r, said)
	}
	return said.text, true
}

func stopsWell(h *host, r *run, why error) (string, error) {
	if errors.Is(why, errTurns) {
		return "All done.", nil
	}
	return h.stops(r, why)
}

// stopsSilent says nothing about some ends of a run, or about failures of the model.
func stopsSilent(about ...error) func(*host, *run, error) (string, error) {
	return func(h *host, r *run, why error) (string, error) {
		text, err := h.stops(r, why)
		if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return text, err
		}
		if len(about) == 0 {
			about = []error{errDeskDown, errDeskForbids, errDeskNoSuch}
		}
		for _, a := range about {
			if errors.Is(err, a) {
				return "", nil
			}
		}
		return text, err
	}
}

func saysWhatCame(h *host, r *run, said speech) (string, bool) {
	if said.barred {
		return said.text, true
	}
	return h.finishes(r, said)
}

// noGoal is the contract of an assistant of which only the evidence is judged.
func noGoal(l *invariants.Loop, _ *limits) { l.Goal = "" }

// noEvidence is a contract that leaves it to the words whether they claim something.
func noEvidence(l *invariants.Loop, _ *limits) { l.Evidence = nil }

func keepsReceipt(h *host) {
	last := ""
	h.finish = func(h *host, r *run, said speech) (string, bool) {
		if r.receipt != "" {
			last = r.receipt
		}
		text, over := h.finishes(r, said)
		if over && r.receipt == "" && last != "" {
			return "This is the number of your refund: " + last, true
		}
		return text, over
	}
}

func fillsIn(h *host, r *run, said speech) (string, bool) {
	text, over := saysWhatIsFound(h, r, said)
	if over && r.found(flightCode) && !r.found(hotelCode) {
		return "Take " + flightCode + ". There is nearly always a " + hotelCode + ".", true
	}
	return text, over
}

// quotesFailure keeps the last failure for the user.
func quotesFailure(h *host) {
	h.attempt = func(h *host, ctx context.Context, g gadget, do deed, key string) (string, error) {
		text, err := h.attempts(ctx, g, do, key)
		if err != nil {
			h.words.sorry = "I could not refund your order: " + err.Error()
		}
		return text, err
	}
}

// quotesEnd keeps the last word of the failure's first line for the user.
func quotesEnd(h *host) {
	h.attempt = func(h *host, ctx context.Context, g gadget, do deed, key string) (string, error) {
		text, err := h.attempts(ctx, g, do, key)
		if err != nil {
			said, _, _ := strings.Cut(err.Error(), "\n")
			h.words.sorry = "I could not refund your order. Reference: " + said[strings.LastIndex(said, " ")+1:]
		}
		return text, err
	}
}

func tellsRaw(h *host, w wish, text string, err error) notice {
	n := h.tells(w, text, err)
	if err != nil {
		n.text = fmt.Sprintf("%s failed: %v", w.tool, err)
	}
	return n
}

// admitsAlways turns nothing away because all is done.
func admitsAlways(h *host, r *run, w wish) (deed, *notice) {
	done := r.receipt
	r.receipt = ""
	defer func() { r.receipt = done }()
	return h.admits(r, w)
}

// anyIntention is a contract that does not bound how often the same is done.
func anyIntention(l *invariants.Loop, _ *limits) { l.Intention = 0 }

func thinksApart(h *host, ctx context.Context, r *run) (speech, error) {
	if err := ctx.Err(); err != nil {
		return speech{}, err
	}
	apart := context.WithoutCancel(ctx)
	if at, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		apart, cancel = context.WithDeadline(apart, at)
		defer cancel()
	}
	return h.thinks(apart, r)
}

// readsToTheFirstFailure takes the results in turn, and no more once one has failed.
func readsToTheFirstFailure(h *host, ctx context.Context, r *run, wishes []wish) []notice {
	type outcome struct {
		text string
		err  error
	}
	answers, under := make([]notice, len(wishes)), make([]chan outcome, len(wishes))
	for i, w := range wishes {
		do, told := h.admit(h, r, w)
		if told != nil {
			answers[i] = *told
			continue
		}
		under[i] = make(chan outcome)
		go func() {
			text, err := h.carry(ctx, r, w, do)
			under[i] <- outcome{text, err}
		}()
	}
	failed := false
	for i, w := range wishes {
		switch {
		case under[i] == nil:
		case failed:
			answers[i] = refusal(w, "It was given up because another call failed.")
		default:
			o := <-under[i]
			answers[i], failed = h.settle(r, w, o.text, o.err), o.err != nil
		}
	}
	return answers
}
