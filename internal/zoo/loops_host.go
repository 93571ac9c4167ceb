package zoo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A host runs a loop that a model drives: it asks the model for turns, calls the
// tools that it may, and says to the user what is known to be so. Its functions
// are the parts that a faulty host has otherwise.
type host struct {
	brain  brain
	tools  map[string]gadget
	names  []string // of the tools, as they are offered
	limits limits
	words  tellings
	leave  consent // asked before a gadget that needs it; nil: none does

	think   func(h *host, ctx context.Context, r *run) (speech, error)
	hear    func(h *host, r *run, said speech) []wish
	serve   func(h *host, ctx context.Context, r *run, wishes []wish) []notice
	admit   func(h *host, r *run, w wish) (deed, *notice)
	may     func(h *host, ctx context.Context, r *run, w wish) error
	attempt func(h *host, ctx context.Context, g gadget, do deed, key string) (string, error)
	key     func(r *run, w wish) string
	same    func(w wish) string
	tell    func(h *host, w wish, text string, err error) notice
	keep    func(h *host, r *run, w wish, said notice, err error)
	add     func(h *host, r *run, answers []notice)
	count   func(h *host, r *run, wishes []wish, answers []notice) error
	finish  func(h *host, r *run, said speech) (text string, over bool)
	stop    func(h *host, r *run, why error) (string, error)
}

// limits are the guards of a run.
type limits struct {
	turns    int // of the model
	failing  int // the same wish, in a row
	perTool  int // wishes of one tool, in a row
	handOn   int // turns in a row in which all failed
	thinking int // attempts of one turn
}

// tellings are what the user is told by the host itself.
type tellings struct {
	done   string // behind it stands what the goal's tool answered
	sorry  string
	barred string
}

// Why a run ends without an answer.
var (
	errTurns    = errors.New("support: the assistant found no end")
	errStuck    = errors.New("support: the assistant goes in circles")
	errHandedOn = errors.New("support: this needs a colleague")
	errNoLeave  = errors.New("support: the owner has not agreed")
)

// rightHost is a host without faults.
func rightHost(b brain, tools map[string]gadget, names []string, l limits, w tellings) *host {
	return &host{
		brain: b, tools: tools, names: names, limits: l, words: w,
		think: (*host).thinks, hear: (*host).hears, serve: (*host).inTurn, admit: (*host).admits, may: (*host).mayCall,
		attempt: (*host).attempts, key: keyOfWish, same: intention, tell: (*host).tells, keep: (*host).keeps, add: (*host).adds,
		count: (*host).counts, finish: (*host).finishes, stop: (*host).stops,
	}
}

// A run is one request of the user.
type run struct {
	id      int64
	talk    []line
	known   map[string]notice // what became of each intention that is settled
	pinned  map[string]string // arguments that are fixed by now
	receipt string            // the answer of the goal's tool
	failing map[string]int    // by intention, in a row
	perTool map[string]int    // by tool, in a row
	turns   map[string]int    // in which all failed, in a row
}

func newRun(id int64, request string) *run {
	return &run{
		id: id, talk: []line{{from: "user", text: request}}, known: map[string]notice{}, pinned: map[string]string{},
		failing: map[string]int{}, perTool: map[string]int{}, turns: map[string]int{},
	}
}

// run serves the request.
func (h *host) run(ctx context.Context, id int64, request string) (string, error) {
	return h.converse(ctx, newRun(id, request))
}

// converse holds the conversation of a run.
func (h *host) converse(ctx context.Context, r *run) (string, error) {
	for range h.limits.turns {
		said, err := h.think(h, ctx, r)
		if err != nil {
			return h.stop(h, r, err)
		}
		wishes := h.hear(h, r, said)
		if len(wishes) == 0 {
			if text, over := h.finish(h, r, said); over {
				return text, nil
			}
			continue
		}
		answers := h.respond(ctx, r, said, wishes)
		h.add(h, r, answers)
		if err := ctx.Err(); err != nil {
			return h.stop(h, r, err)
		}
		if err := h.count(h, r, wishes, answers); err != nil {
			return h.stop(h, r, err)
		}
	}
	return h.stop(h, r, errTurns)
}

// thinks asks the model for a turn, and again where its service fails for a while.
func (h *host) thinks(ctx context.Context, r *run) (said speech, err error) {
	err = inTries(ctx, h.limits.thinking, passes, func(ctx context.Context) (err error) {
		said, err = h.brain(ctx, r.talk, h.names)
		return err
	})
	return said, err
}

// inTries is the right loop of attempts: each has a time of its own, and between two of
// them is a wait, which is as long as the other side asks for.
func inTries(ctx context.Context, most int, passing func(error) bool, do func(context.Context) error) error {
	for n, wait := 1, base; ; n, wait = n+1, 2*wait {
		if err := ctx.Err(); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		err := do(limited)
		cancel()
		if err == nil || n >= most || ctx.Err() != nil || !passing(err) {
			return err
		}
		if err := sleep(ctx, max(wait, pauseAsked(err))); err != nil {
			return err
		}
	}
}

// hears keeps what the model said, with an id of its own for each wish, and returns
// what it asks for.
func (h *host) hears(r *run, said speech) []wish {
	wishes := ownIDs(said.wishes, len(r.talk))
	if said.barred || said.text == "" && len(wishes) == 0 {
		return nil
	}
	r.talk = append(r.talk, line{from: "model", text: said.text, wishes: wishes})
	return wishes
}

// ownIDs gives an id to wishes that have none, or that of another.
func ownIDs(wishes []wish, at int) []wish {
	wishes = slices.Clone(wishes)
	seen := map[string]bool{}
	for i := range wishes {
		w := &wishes[i]
		if w.id == "" || seen[w.id] {
			w.id = fmt.Sprintf("own_%d_%d", at, i)
		}
		seen[w.id] = true
	}
	return wishes
}

// respond serves the wishes. Of what was cut off nothing is done, and the model is told
// so.
func (h *host) respond(ctx context.Context, r *run, said speech, wishes []wish) []notice {
	if !said.cut {
		return h.serve(h, ctx, r, wishes)
	}
	answers := make([]notice, len(wishes))
	for i, w := range wishes {
		answers[i] = refusal(w, "Your message was cut off, and nothing of it was carried out.")
	}
	return answers
}

// adds shows the model what became of its wishes.
func (h *host) adds(r *run, answers []notice) {
	r.talk = append(r.talk, line{from: "tool", answers: answers})
}

// inTurn serves one wish after the other.
func (h *host) inTurn(ctx context.Context, r *run, wishes []wish) []notice {
	answers := make([]notice, len(wishes))
	for i, w := range wishes {
		do, told := h.admit(h, r, w)
		if told != nil {
			answers[i] = *told
			continue
		}
		text, err := h.carry(ctx, r, w, do)
		answers[i] = h.settle(r, w, text, err)
	}
	return answers
}

// atOnce serves all wishes of a turn at once, each in a goroutine, and those that are
// the same by one call.
func (h *host) atOnce(ctx context.Context, r *run, wishes []wish) []notice {
	answers, texts, errs := make([]notice, len(wishes)), make([]string, len(wishes)), make([]error, len(wishes))
	first := map[string]int{}
	var under sync.WaitGroup
	for i, w := range wishes {
		if _, twice := first[h.same(w)]; twice {
			continue
		}
		do, told := h.admit(h, r, w)
		if told != nil {
			answers[i] = *told
			continue
		}
		first[h.same(w)] = i
		under.Go(func() { texts[i], errs[i] = h.carry(ctx, r, w, do) })
	}
	under.Wait()
	for i, w := range wishes {
		if k, made := first[h.same(w)]; made {
			answers[i] = h.settle(r, w, texts[k], errs[k])
		}
	}
	return answers
}

// carry carries out a wish that is admitted.
func (h *host) carry(ctx context.Context, r *run, w wish, do deed) (string, error) {
	ctx = trace.CallID(ctx, w.id)
	if err := h.may(h, ctx, r, w); err != nil {
		return "", err
	}
	return h.attempt(h, ctx, h.tools[w.tool], do, h.key(r, w))
}

// settle is what the model is told of it. It stays so for the rest of the run.
func (h *host) settle(r *run, w wish, text string, err error) notice {
	if err == nil && h.tools[w.tool].goal {
		r.receipt = text
	}
	said := h.tell(h, w, text, err)
	h.keep(h, r, w, said, err)
	return said
}

// admits makes a deed of a wish, or says why it is none.
func (h *host) admits(r *run, w wish) (deed, *notice) {
	no := func(format string, args ...any) (deed, *notice) {
		n := refusal(w, fmt.Sprintf(format, args...))
		return nil, &n
	}
	g, ok := h.tools[w.tool]
	if !ok {
		return no("There is no such tool. There are: %s.", strings.Join(h.names, ", "))
	}
	do, err := g.read(w.args)
	if err != nil {
		return no("%s takes %s, and nothing else.", w.tool, g.takes)
	}
	if before, ok := r.known[h.same(w)]; ok {
		before.id = w.id
		return nil, &before
	}
	if r.receipt != "" {
		return no("All is done. Tell the user.")
	}
	if name := r.pin(w, g.fixed); name != "" {
		return no("%s stays as it is in this conversation.", name)
	}
	return do, nil
}

// pin holds the arguments to what they were at first, and returns one that differs.
func (r *run) pin(w wish, names []string) string {
	now := fieldsOf(w.args)
	for _, name := range names {
		if was, ok := r.pinned[w.tool+"."+name]; ok && was != now[name] {
			return name
		}
	}
	for _, name := range names {
		r.pinned[w.tool+"."+name] = now[name]
	}
	return ""
}

// mayCall asks for leave where the gadget needs it. It is good for this wish.
func (h *host) mayCall(ctx context.Context, _ *run, w wish) error {
	if !h.tools[w.tool].needsLeave {
		return nil
	}
	until, err := h.leave(ctx, w)
	if err == nil && !until.IsZero() && !time.Now().Before(until) {
		err = errNoLeave
	}
	return err
}

// attempts carries a deed out, and again where it fails for a while.
func (h *host) attempts(ctx context.Context, g gadget, do deed, key string) (text string, err error) {
	err = inTries(ctx, g.most, passes, func(ctx context.Context) (err error) {
		text, err = do(ctx, key)
		return err
	})
	return text, err
}

// passes reports whether a failure of a tool or of the model may pass.
func passes(err error) bool {
	_, busy := errors.AsType[*deskBusy](err)
	return busy || errors.Is(err, errDeskDown) || errors.Is(err, errDeskReset) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// pauseAsked is the wait that the failure asks for.
func pauseAsked(err error) time.Duration {
	if busy, ok := errors.AsType[*deskBusy](err); ok {
		return busy.after
	}
	return 0
}

// tells words what the model gets to read. Of failures it has words of its own, since
// those of a tool may be anybody's.
func (h *host) tells(w wish, text string, err error) notice {
	switch {
	case err == nil:
		return notice{id: w.id, tool: w.tool, text: text}
	case errors.Is(err, errDeskForbids), errors.Is(err, errNoLeave):
		return refusal(w, "It is not allowed. Do not ask for it again.")
	case errors.Is(err, errDeskNoSuch):
		return refusal(w, "There is no such thing.")
	}
	return refusal(w, unavailable)
}

const unavailable = "It is not available now, and will not be in this conversation."

func refusal(w wish, text string) notice {
	return notice{id: w.id, tool: w.tool, text: text, failed: true}
}

// keeps remembers what has become of a wish.
func (h *host) keeps(r *run, w wish, said notice, _ error) {
	said.known = true
	r.known[h.same(w)] = said
}

// counts holds the run to its limits, after each turn with wishes.
func (h *host) counts(r *run, wishes []wish, answers []notice) error {
	inARowOf(r.failing, wishes, answers, h.same)
	inARowOf(r.perTool, wishes, answers, func(w wish) string { return w.tool })
	inARowOf(r.turns, wishes, answers, func(wish) string { return "" })
	switch {
	case anyReaches(r.turns, h.limits.handOn):
		return errHandedOn
	case anyReaches(r.failing, h.limits.failing), anyReaches(r.perTool, h.limits.perTool):
		return errStuck
	}
	return nil
}

func anyReaches(counts map[string]int, most int) bool {
	for _, n := range counts {
		if n >= most {
			return true
		}
	}
	return false
}

// inARowOf counts failures in a row, those of one turn as one. An answer that is
// known from before is no new success.
func inARowOf(counts map[string]int, wishes []wish, answers []notice, name func(wish) string) {
	failed, passed := map[string]bool{}, map[string]bool{}
	for i, w := range wishes {
		switch {
		case answers[i].failed:
			failed[name(w)] = true
		case !answers[i].known:
			passed[name(w)] = true
		}
	}
	for n := range failed {
		counts[n]++
	}
	for n := range passed {
		counts[n] = 0
	}
}

// finishes is what the user is told where the model asks for nothing more. It goes
// by what the tools said, and takes the model's words where they can be so.
func (h *host) finishes(r *run, said speech) (string, bool) {
	switch {
	case said.barred && r.receipt == "":
		return h.words.barred, true
	case said.barred:
		return h.words.done + r.receipt, true
	case said.cut, said.text == "":
		r.talk = append(r.talk, line{from: "system", text: "The user waits for an answer."})
		return "", false
	case r.receipt == "":
		return h.words.sorry, true
	}
	return said.text, true
}

// stops ends a run that has no answer of the model. What is done is told all the same.
func (h *host) stops(r *run, why error) (string, error) {
	if r.receipt != "" {
		return h.words.done + r.receipt, nil
	}
	return "", why
}
