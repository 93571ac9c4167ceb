package faultsim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// An ItemResult is what became of one item of a batch: Out where it is done,
// Err where it failed.
type ItemResult[Out any] struct {
	ID  string
	Out Out
	Err error
}

// Batch puts a function double on the stage that does several items in one
// call. Its faults are those of [Tool], by which a request fails as a whole and
// returns an error; and [Fault.Items], by which single items fail while the
// others are done: the request is a success then, and each item's result tells,
// which is what a caller overlooks. In a schedule:
//
//	records 1 partial items=b:throttled,#3:forbidden
//
// A hint of such a fault is in the error of each item whose class has one that
// is [Hinted].
//
// id is an item's name, fake does one item (nil: the zero answer), and errs says
// how failures look, of requests and of items. Results come in the order of the
// request. [invariants.BatchRetry] holds the retries to the items that failed.
func Batch[Item, Out any](s *Stage, name string, id func(Item) string, fake trace.Func[Item, Out], errs Errors) trace.Func[[]Item, []ItemResult[Out]] {
	t := &tool{name: name, skills: &batchSkills{errs}}
	s.register(t)
	if id == nil {
		s.misused(fmt.Errorf("faultsim: batch %q: id is nil: give the function that names an item", name))
	}
	s.misused(errs.valueless(name))
	if s.saboteur != nil && id != nil {
		return between(s, t, func(ctx context.Context, in []Item) ([]ItemResult[Out], trace.Outcome, error) {
			c := batchCall[Item, Out]{s: s, t: t, id: id, fake: fake, errs: errs, ctx: ctx, in: in}
			return c.run()
		})
	}
	return func(ctx context.Context, in []Item) ([]ItemResult[Out], error) {
		switch {
		case ctx == nil:
			return nil, s.misused(fmt.Errorf("faultsim: %s was called with a nil context: hand the caller's context on", name))
		case id == nil:
			return nil, fmt.Errorf("faultsim: batch %q: id is nil", name)
		}
		c := batchCall[Item, Out]{s: s, t: t, id: id, fake: fake, errs: errs, ctx: ctx, in: in}
		out, _, err := c.run()
		return out, err
	}
}

// valueless reports a class that a batch cannot answer as planned: it answers
// with the results of its items, and not with one value.
func (e Errors) valueless(name string) error {
	for _, c := range trace.Classes() {
		if _, ok := e[c].(*value); ok {
			return fmt.Errorf("faultsim: batch %q: Errors[%v] is a Value, and a batch answers with a result for each item: give it an error", name, c)
		}
	}
	return nil
}

// batchSkills are what a batch can show: a request fails like a function tool's,
// and so can an item.
type batchSkills struct{ Errors }

func (b *batchSkills) can(f *Fault) bool {
	if f.Empty {
		return false // its answer has a result for each item
	}
	if f.Items == "" {
		return f.Class != trace.Partial && b.Errors.can(f)
	}
	hints := f.Hint == 0
	for _, it := range f.Items.List() {
		if !b.Errors.can(&Fault{Class: it.Class}) {
			return false
		}
		hints = hints || b.Errors.can(&Fault{Class: it.Class, Hint: f.Hint})
	}
	return hints
}

// can reports whether the double can answer as the fault plans.
func (t *tool) can(f *Fault) bool {
	_, http := t.skills.(*route)
	_, sink := t.skills.(recording)
	_, thinks := t.skills.(interface{ thinks() })
	_, approves := t.skills.(approving)
	return (t.batches() || f.Items == "") && (http || thinks || f.Body == 0) && (sink || !f.Panic) &&
		(thinks || f.Move == MoveNone) && (approves || f.Valid == 0) && t.skills.can(f)
}

// batches reports whether the tool does several items in one call.
func (t *tool) batches() bool {
	if r, ok := t.skills.(*route); ok {
		return r.Batch != nil
	}
	_, ok := t.skills.(*batchSkills)
	return ok
}

// A batchCall is one request.
type batchCall[Item, Out any] struct {
	s    *Stage
	t    *tool
	id   func(Item) string
	fake trace.Func[Item, Out]
	errs Errors
	ctx  context.Context
	in   []Item
	p    trace.Pending
}

func (c *batchCall[Item, Out]) run() (out []ItemResult[Out], o trace.Outcome, err error) {
	if c.s.gone() {
		return nil, o, c.s.buried()
	}
	asked, err := c.named()
	if err != nil {
		return nil, o, err
	}
	c.p = c.s.reached(c.ctx, trace.Call{Tool: c.t.name, Args: double.JSON(c.in), Items: trace.ItemsOf(asked...), Definition: c.s.known(c.t.name)})
	f, a := c.s.arrive(c.t, c.p)
	order := c.s.sent(c.t, c.p, asked)
	ended := c.s.enter(c.t, &f, c.ctx)
	var own error
	if ended == 0 {
		defer c.s.leave(c.t)
		ended = c.visit(&f, order)
	}
	if ended == 0 {
		if f.Done {
			out = c.work(&f, order)
		}
		ended = double.Timing{Latency: f.Latency, Hang: f.Hang, Deaf: f.Deaf}.Play(c.ctx, nil, c.p)
	}
	switch {
	case ended != 0:
		out, o, err = nil, trace.Outcome{Class: ended}, c.ctx.Err()
		own = context.Cause(c.ctx) // whoever says why it ended has kept the error as well
	case f.class() != trace.OK && f.Items == "":
		out, o, err = nil, trace.Outcome{Class: f.Class, Hint: f.Hint}, c.s.rendered(c.t.name, c.errs, &f)
	default:
		if out == nil {
			out = c.work(&f, order)
		}
		o = outcomeOf(out, &f, order, c.errs)
	}
	if c.s.gone() {
		return nil, o, c.s.buried()
	}
	var result []byte
	if err == nil {
		result = double.JSON(out)
	}
	a.tells(func() {
		if own != nil {
			c.s.answered(a, answer{}, callError{call: c.p.Number(), err: own})
		}
		c.answered(a, out, err)
		c.p.Answer(o, result, err)
	})
	return out, o, err
}

// visit brings the request to the service of the tool, if there is one. What it asks
// for is done all the same where the caller gives up; see [Service].
func (c *batchCall[Item, Out]) visit(f *Fault, order []string) trace.Class {
	r := c.s.reception(c.t)
	if r == nil {
		c.s.gathers(f)
		return 0
	}
	v, ended := r.visit(c.ctx, c.s.place(c.p), f)
	if ended != 0 && v.worksOn(f) {
		own, fault := *c, *f
		own.ctx, own.in = context.WithoutCancel(c.ctx), double.Clone(c.in)
		workBehind(own.s, own.t, v, func() { own.work(&fault, order) })
	}
	return ended
}

// answered notes the answer for the judging of the action's end: each failed
// item's error counts as one of this call. What a program makes of several
// results is its own, so that nothing is expected of it.
func (c *batchCall[Item, Out]) answered(a *act, out []ItemResult[Out], err error) {
	e := callError{call: c.p.Number(), err: err}
	for i := range out {
		if failed := out[i].Err; failed != nil {
			e.err, e.status = failed, true
			c.s.answered(a, answer{}, e)
		}
	}
	if !e.status {
		c.s.answered(a, answer{}, e)
	}
}

// work does the items that the fault leaves alone, and records their effects.
func (c *batchCall[Item, Out]) work(f *Fault, order []string) []ItemResult[Out] {
	out := make([]ItemResult[Out], len(c.in))
	var done []trace.Item
	for i, item := range c.in {
		out[i].ID = c.id(item)
		if class := f.item(out[i].ID, order); class != trace.OK {
			out[i].Err = c.s.rendered(c.t.name, c.errs, &Fault{Class: class, Hint: f.Hint})
			continue
		}
		if c.fake != nil {
			out[i].Out, out[i].Err = c.faked(item)
		}
		if out[i].Err == nil {
			done = append(done, trace.Item{ID: out[i].ID})
		}
	}
	if len(done) > 0 {
		c.p.EffectOf(trace.ItemsOf(done...))
	}
	return out
}

// outcomeOf is what the answer tells: done, or what became of each item.
func outcomeOf[Out any](out []ItemResult[Out], f *Fault, order []string, errs Errors) trace.Outcome {
	list := make([]trace.Item, len(out))
	o := trace.Outcome{Class: trace.OK}
	for i := range out {
		list[i] = trace.Item{ID: out[i].ID, Class: f.item(out[i].ID, order)}
		if out[i].Err != nil && list[i].Class == trace.OK {
			list[i].Class = trace.Classify(out[i].Err).Class
		}
		if list[i].Class != trace.OK {
			o.Class = trace.Partial
		}
		if f.Hint > 0 && list[i].Class != trace.OK && errs.can(&Fault{Class: list[i].Class, Hint: f.Hint}) {
			o.Hint = f.Hint // which the item's error tells
		}
	}
	o.Items = trace.ItemsOf(list...)
	return o
}

// item is how the item goes. order is that of the action's items.
func (f *Fault) item(id string, order []string) trace.Class {
	number := "#" + strconv.Itoa(slices.Index(order, id)+1)
	for _, it := range f.Items.List() {
		if it.ID == id || it.ID == number {
			return it.Class
		}
	}
	return trace.OK
}

type batchKey struct {
	tool   string
	action int
}

// sent notes the items that an action sends a tool and returns all that it has
// sent, in the order in which it first did.
func (s *Stage) sent(t *tool, p trace.Pending, items []trace.Item) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches == nil {
		s.batches = map[batchKey][]string{}
	}
	key := batchKey{t.name, p.Action()}
	order := s.batches[key]
	for _, it := range items {
		if !slices.Contains(order, it.ID) {
			order = append(order, it.ID)
		}
	}
	s.batches[key] = order
	return slices.Clone(order)
}

// validateItems reports what makes the fault's items unplayable.
func (f *Fault) validateItems() error {
	switch _, err := parseItems(string(f.Items)); {
	case f.Items == "":
		return nil
	case err != nil:
		return fmt.Errorf("Items: %w", err)
	case f.Class != trace.Partial || f.Hang:
		return fmt.Errorf("Items are set and the answer is no partial one: set Class to trace.Partial, and no Hang")
	}
	return nil
}

// parseItems reads items that fail.
func parseItems(text string) (trace.Items, error) {
	list, err := trace.ParseItems(text)
	if err != nil {
		return "", fmt.Errorf("items=%s is no list such as items=b:throttled,#3:forbidden", text)
	}
	seen := map[string]bool{}
	for i := range list {
		switch id := list[i].ID; {
		case id == "":
			return "", fmt.Errorf("items=%s: there is an item without a name: write its id or its number, such as b:throttled,#3:forbidden", text)
		case id == "#0":
			return "", fmt.Errorf("items=%s: there is no item #0: numbers count from #1", text)
		case seen[id]:
			return "", fmt.Errorf("items=%s: item %s is given twice: take one out", text, id)
		}
		seen[list[i].ID] = true
		if c := list[i].Class; c == 0 || c == trace.OK || c == trace.Partial || c == trace.Cancelled {
			return "", fmt.Errorf("items=%s: item %s needs the class of a failure, such as %s:throttled", text, list[i].ID, list[i].ID)
		}
	}
	return itemsText(list), nil
}

// withoutLastItem takes an item out, where there are several.
func withoutLastItem(f *Fault) {
	if i := strings.LastIndexByte(string(f.Items), ','); i > 0 {
		f.Items = f.Items[:i]
	}
}

func withoutFirstItem(f *Fault) { f.Items = f.Items[strings.IndexByte(string(f.Items), ',')+1:] }

// drawnItems are the failures of a batch's items.
type drawnItems struct{ retried, refused []trace.Class }

// mostItems is how many of an action's first items are drawn to fail.
const mostItems = 4

// itemsOf is what is drawn for a batch; nil: the tool is none, or cannot fail.
func (d *drawer) itemsOf(t *tool) *drawnItems {
	if !t.batches() {
		return nil
	}
	var items drawnItems
	for _, c := range trace.Classes() {
		f := Fault{Class: trace.Partial, Items: itemsText([]trace.Item{{ID: "#1", Class: c}})}
		switch {
		case c == trace.OK || c == trace.Partial || c == trace.Cancelled || !t.can(&f):
		case d.p.Retries(c):
			items.retried = append(items.retried, c)
		default:
			items.refused = append(items.refused, c)
		}
	}
	if len(items.retried)+len(items.refused) == 0 {
		return nil
	}
	return &items
}

// draw draws a request in which some of the first items fail, at least one.
func (d *drawnItems) draw(t *source) Fault {
	var list []trace.Item
	sure := 1 + below(t, mostItems)
	for n := 1; n <= mostItems; n++ {
		if n != sure && !oneIn(t, 2) {
			continue
		}
		from := d.retried
		if len(from) == 0 || len(d.refused) > 0 && oneIn(t, 2) {
			from = d.refused
		}
		list = append(list, trace.Item{ID: "#" + strconv.Itoa(n), Class: from[below(t, len(from))]})
	}
	return Fault{Class: trace.Partial, Items: itemsText(list)}
}

// item draws a request that fails in its items, and asks for a wait where one of
// them can.
func (d *drawer) item(t *source, tool *drawnTool, n int) Fault {
	f := tool.items.draw(t)
	if len(tool.hints) == 0 || !coin(t) {
		return f
	}
	hinted := f
	hinted.Hint, hinted.Form = d.hint(t, n), tool.hints[0]
	if tool.can(&hinted) {
		return hinted
	}
	return f
}

// itemsText keeps the # of numbers readable, which needs no escape here.
func itemsText(list []trace.Item) trace.Items {
	return trace.Items(strings.ReplaceAll(string(trace.ItemsOf(list...)), "%23", "#"))
}
