package trace

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A teller turns events into rows. It remembers what a reader has been shown.
type teller struct {
	t        *Trace
	labels   map[int]string   // call → tool and number of the attempt
	attempts map[int]*Attempt // call → attempt
	before   map[int]*Attempt // call → the attempt before it in its series
	actions  map[string]*Action
	shown    map[spot]*shown
	effects  map[effect]int
	others   map[spot]int        // calls that are no attempts
	prompts  map[spot]*Prompt    // what each model was shown last
	answers  map[string][]answer // of each action
	keys     map[string]string   // of calls that were served, by how they are shown
}

// An answer is a result and the call that gave it.
type answer struct {
	result json.RawMessage
	call   int
}

// A spot is one tool in one action, in one role.
type spot struct {
	action, tool string
	role         Role
}

// shown is what the reader has last seen of a spot.
type shown struct {
	args json.RawMessage
	key  string
	cred string
	def  string
	sess int
	call int
}

// An effect is what a tool does once for a key.
type effect struct {
	spot
	key string
}

// A detail is the last column: parts, of which some are times.
type detail struct{ parts, like, pace []string }

func (d *detail) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.parts, d.like = append(d.parts, text), append(d.like, text)
}

// time adds a part that does not tell alike from unlike.
func (d *detail) time(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.parts, d.pace = append(d.parts, text), append(d.pace, text)
}

// left adds the time that is left, which is another one in every row.
func (d *detail) left(format string, args ...any) {
	d.parts = append(d.parts, fmt.Sprintf(format, args...))
}

const between = " · "

func (t *Trace) rows() []row {
	w := teller{
		t: t, labels: map[int]string{}, attempts: map[int]*Attempt{}, before: map[int]*Attempt{}, actions: map[string]*Action{},
		shown: map[spot]*shown{}, effects: map[effect]int{}, others: map[spot]int{}, prompts: map[spot]*Prompt{},
		answers: map[string][]answer{},
	}
	w.label()
	rows := make([]row, len(t.Events))
	for i := range t.Events {
		e := &t.Events[i]
		r := row{at: e.At, action: plainName(e.Action), kind: e.Kind}
		if e.Ambiguous {
			r.action = "?"
		}
		var d detail
		r.who, r.verb = w.who(e), e.Kind.String()
		w.tell(e, &r, &d)
		r.detail = strings.Join(d.parts, between)
		tool := e.Tool
		r.like = strings.Join(append(d.like, r.action, tool, r.verb), "\x00")
		r.pace = strings.Join(d.pace, between)
		rows[i] = r
	}
	return rows
}

// label gives every attempt its number: that in its series, with the number of
// the series before it where the tool has several in the action.
func (w *teller) label() {
	actions := w.t.Actions()
	for i := range actions {
		a := &actions[i]
		w.actions[a.Name] = a
		total, number := map[string]int{}, map[string]int{}
		for _, s := range a.Series {
			total[s.Tool]++
		}
		for _, s := range a.Series {
			number[s.Tool]++
			for n := range s.Attempts {
				at := &s.Attempts[n]
				label := strconv.Itoa(at.N)
				if total[s.Tool] > 1 {
					label = strconv.Itoa(number[s.Tool]) + "." + label
				}
				w.labels[at.Call] = plainName(at.Tool) + " " + label
				w.attempts[at.Call] = at
				if n > 0 {
					w.before[at.Call] = &s.Attempts[n-1]
				}
			}
		}
	}
}

// who is the tool and the number of the attempt.
func (w *teller) who(e *Event) string {
	if e.Call == 0 {
		return plainName(e.Tool)
	}
	if label, ok := w.labels[e.Call]; ok {
		return label
	}
	label := plainName(e.Tool) + " call " + strconv.Itoa(e.Call)
	if e.Kind == KindCall && e.Role != RoleAttempt {
		p := spot{e.Action, e.Tool, e.Role}
		w.others[p]++
		label = fmt.Sprintf("%s %v %d", plainName(e.Tool), e.Role, w.others[p])
	}
	w.labels[e.Call] = label
	return label
}

func (w *teller) tell(e *Event, r *row, d *detail) {
	switch e.Kind {
	case KindBegin:
		w.tellBegin(e, d)
	case KindCall:
		w.tellCall(e, d)
	case KindAnswer:
		w.tellAnswer(e, r, d)
	case KindInterrupt:
		r.verb = outcomeWord(e.Outcome)
		d.add("the caller stops waiting, the tool works on")
		tellOutcome(e, d)
	case KindWait:
		w.tellWait(e, d)
	case KindCancel:
		d.add("the caller cancels")
	case KindEffect:
		w.tellEffect(e, d)
	case KindPublish:
		d.add("%s", orElse(e.Reason.String(), "a terminal without a reason"))
	case KindObservation:
		d.add("%s", jsonText(e.Result, longText))
	case KindClose:
		d.add("the program closes session %d", e.Session)
	case KindHit:
		w.tellHit(e, r, d)
	case KindSay:
		d.add("%s", jsonText(e.Result, longText))
	case KindEnd:
		w.tellEnd(e, d)
	case KindHang, KindLeak, KindPanic, KindSpin:
		tellTrouble(e, d)
	case KindCrash:
		tellCrash(e, d)
	case KindDrain:
		tellDrain(e, d)
	case KindHandback:
		tellHandback(e, d)
	case KindRestart:
		d.add("the program goes on")
	case KindCalm:
		d.add("the faults stop")
	default:
		d.add("an event of an unknown kind")
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (w *teller) tellBegin(e *Event, d *detail) {
	if actions := w.t.Actions(); e.Count > 0 && e.Count <= len(actions) {
		d.add("%s again", orElse(plainName(actions[e.Count-1].Name), "the one before"))
	}
	if len(e.Args) > 0 {
		d.add("%s", jsonText(e.Args, longText))
	}
	if e.Key != "" {
		d.add("key %s", w.keyOf(e.Key))
	}
	if e.Deadline == 0 {
		d.add("no deadline")
		return
	}
	d.add("deadline at %s", span(e.Deadline))
}

// keyOf is the key of a call that was served, as short as it can be told from
// those before it.
func (w *teller) keyOf(key string) string {
	short := shortKey(key)
	if w.keys == nil {
		w.keys = map[string]string{}
	}
	if first, taken := w.keys[short]; taken && first != key {
		return apart(key, first)
	}
	w.keys[short] = key
	return short
}

func (w *teller) tellCall(e *Event, d *detail) {
	p := spot{e.Action, e.Tool, e.Role}
	if e.Ambiguous {
		p.action = "\x00" // no action has this name
		d.add("could belong to several actions")
	}
	at := w.attempts[e.Call]
	before := w.shown[p]
	w.shown[p] = &shown{e.Args, e.Key, e.Credential, e.Definition, e.Session, e.Call}
	if b := w.before[e.Call]; b != nil {
		before = &shown{b.Args, b.Key, b.Credential, b.Definition, b.Session, b.Call}
	}
	tellArguments(before, e, at != nil && at.N == 1, d)
	w.tellPrompt(e, d)
	tellCredential(before, e, d)
	tellDefinition(before, e, d)
	tellSession(before, e, d)
	if e.Outcome.Items != "" {
		d.add("items %s", e.Outcome.Items.words())
	}
	if e.Layer != "" {
		d.left("in %s", plainName(e.Layer))
	}
	switch {
	case e.CallID != "":
		d.left("id %s", shortKey(e.CallID))
	case e.Ask > 0:
		d.left("for call %d of the model", e.Ask)
	}
	if at != nil && at.N > 1 && before != nil {
		tellGap(at, w.attempts[before.call], d)
	} else if at != nil && at.Slept {
		d.time("after a wait of %s", span(at.Planned))
	}
	switch left := until(e.Deadline, e.At); {
	case e.Deadline == 0:
	case left > 0:
		d.left("%s left", roughly(left))
	default:
		d.add("its deadline has passed")
	}
	switch {
	case at != nil && at.Lost && at.Drained:
		d.add("no answer before the process stopped")
	case at != nil && at.Lost:
		d.add("no answer before the crash")
	case at != nil && !at.Seen:
		d.add("never answered")
	}
}

// tellArguments shows arguments and key, or what is different in them.
func tellArguments(before *shown, e *Event, fresh bool, d *detail) {
	if before == nil {
		if len(e.Args) > 0 {
			d.add("%s", jsonText(e.Args, longText))
		}
		if e.Key != "" {
			d.add("key %s", shortKey(e.Key))
		}
		return
	}
	sameArgs, sameKey := SameArgs(before.args, e.Args), before.key == e.Key
	switch {
	case !sameArgs && e.Outcome.Items != "":
		// A batch: its items tell.
	case !sameArgs && fresh:
		d.add("next %s", changes(before.args, e.Args))
	case !sameArgs:
		d.add("CHANGED %s", changes(before.args, e.Args))
	case sameKey && e.Key != "" && len(e.Args) > 0:
		d.add("same arguments and key")
		return
	case len(e.Args) > 0:
		d.add("same arguments")
	}
	switch {
	case e.Key == "" && before.key != "":
		d.add("NO KEY, it was %s", shortKey(before.key))
	case before.key == "" && e.Key != "":
		d.add("key %s", shortKey(e.Key))
	case !sameKey:
		d.add("ANOTHER KEY %s", apart(e.Key, before.key))
	case e.Key != "":
		d.add("same key")
	}
}

// tellCredential shows the credential, or that it is the one of before.
func tellCredential(before *shown, e *Event, d *detail) {
	last := ""
	if before != nil {
		last = before.cred
	}
	switch {
	case last == "" && e.Credential == "":
	case last == e.Credential:
		d.add("same credential")
	case last == "":
		d.add("credential %s", shortKey(e.Credential))
	case e.Credential == "":
		d.add("NO CREDENTIAL, it was %s", shortKey(last))
	default:
		d.add("another credential %s", apart(e.Credential, last))
	}
}

// tellDefinition shows the version of the tool's definition where it is news.
func tellDefinition(before *shown, e *Event, d *detail) {
	switch {
	case e.Definition == "" || before != nil && before.def == e.Definition:
	case before == nil || before.def == "":
		d.add("definition %s", plainName(e.Definition))
	default:
		d.add("definition %s, it was %s", plainName(e.Definition), plainName(before.def))
	}
}

// tellSession shows the session that a call goes over or opens.
func tellSession(before *shown, e *Event, d *detail) {
	switch {
	case e.Session == 0:
	case e.Role == RoleConnect:
		d.add("opens session %d", e.Session)
	case before != nil && before.sess == e.Session:
		d.add("same session")
	default:
		d.add("session %d", e.Session)
	}
}

// apart is a key that is seen to differ from another: keys often do so in
// their ends only.
func apart(key, other string) string {
	short := shortKey(key)
	if short != shortKey(other) {
		return short
	}
	tail := []rune(key)
	return "…" + plainName(string(tail[max(0, len(tail)-headKey):]))
}

// tellGap shows the time since the attempt before, and what was planned.
func tellGap(at, before *Attempt, d *detail) {
	switch {
	case before == nil || !before.Seen:
		d.add("though the one before has no answer")
	case at.Gap < 0:
		d.time("before the answer to the one before")
	case at.Gap == 0 && !at.Slept:
		d.time("at once")
	case !at.Slept:
		d.time("%s later", span(at.Gap))
	case at.Planned == at.Gap:
		d.time("%s later, as planned", span(at.Gap))
	default:
		d.time("%s later, planned %s", span(at.Gap), span(at.Planned))
	}
}

func (w *teller) tellWait(e *Event, d *detail) {
	d.time("%s", span(e.Wait))
	a := w.actions[e.Action]
	if a == nil || a.Deadline == 0 || e.Ambiguous || plus(e.At, e.Wait) < a.Deadline {
		return
	}
	if left := until(a.Deadline, e.At); left > 0 {
		d.left("past the deadline, with %s left", roughly(left))
		return
	}
	d.add("the deadline has passed")
}

func outcomeWord(o Outcome) string { return orElse(o.Class.String(), "answer") }

func (w *teller) tellAnswer(e *Event, r *row, d *detail) {
	r.verb = outcomeWord(e.Outcome)
	if at := w.attempts[e.Call]; at != nil && at.Interrupted != 0 {
		r.verb = "late " + r.verb
		d.time("%s after the caller saw %s", span(e.At-at.Interrupted), outcomeWord(at.Outcome))
	}
	tellOutcome(e, d)
	tellReply(e.Reply, d)
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
	if len(e.Result) > 0 {
		d.add("%s", jsonText(e.Result, longText))
		w.answers[e.Action] = append(w.answers[e.Action], answer{e.Result, e.Call})
	}
}

// tellHit shows an answer that is no execution.
func (w *teller) tellHit(e *Event, r *row, d *detail) {
	if e.Outcome.Class != OK {
		r.verb = "hit of " + outcomeWord(e.Outcome)
	}
	if len(e.Args) > 0 {
		d.add("for %s", jsonText(e.Args, longText))
	}
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
	if len(e.Result) > 0 {
		d.add("%s", jsonText(e.Result, longText))
		w.answers[e.Action] = append(w.answers[e.Action], answer{result: e.Result})
	}
}

func tellOutcome(e *Event, d *detail) {
	o := e.Outcome
	if o.Code != "" {
		d.add("%s", plainName(o.Code))
	}
	if o.Items != "" {
		d.add("%s", o.Items.words())
	}
	if o.Effect != EffectUnstated {
		d.add("effect %s", strings.ReplaceAll(o.Effect.String(), "-", " "))
	}
	if o.Hint != 0 {
		d.add("asks for %s", spread(o.Hint, plus(o.Hint, o.Slack)))
	}
	switch o.Advice {
	case AdviceRetry:
		d.add("calls itself retryable")
	case AdviceStop:
		d.add("calls itself final")
	}
}

func (w *teller) tellEffect(e *Event, d *detail) {
	if e.Outcome.Items != "" {
		w.tellItems(e, d)
		return
	}
	k := effect{spot{e.Action, e.Tool, 0}, e.Key}
	w.effects[k]++
	if n := w.effects[k]; n > 1 {
		d.add("it is done AGAIN, %d times now", n)
		return
	}
	d.add("it is done")
}

// tellItems shows the items of a batch that are done, each on its own where it
// is done again.
func (w *teller) tellItems(e *Event, d *detail) {
	var done []Item
	for _, it := range e.Outcome.Items.List() {
		k := effect{spot{e.Action, e.Tool, 0}, it.ID}
		w.effects[k]++
		if n := w.effects[k]; n > 1 {
			d.add("%s is done AGAIN, %d times now", plainName(it.ID), n)
		} else {
			done = append(done, Item{ID: it.ID})
		}
	}
	if len(done) > 0 {
		d.add("done: %s", ItemsOf(done...).words())
	}
}

func (w *teller) tellEnd(e *Event, d *detail) {
	switch {
	case e.Reason != 0:
		d.add("%s", e.Reason)
	case e.Error != "":
		d.add("returns an error")
	default:
		d.add("returns")
	}
	if e.Outcome.Code != "" {
		d.add("%s", plainName(e.Outcome.Code))
	}
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
	switch {
	case e.Cause > 0:
		d.add("keeps the error of %s", orElse(w.labels[e.Cause], "call "+strconv.Itoa(e.Cause)))
	case e.Cause < 0:
		d.add("keeps no attempt's error")
	}
	if e.Count > 0 {
		d.add("tells of %s", plural(e.Count, "attempt"))
	}
	w.tellResult(e, d)
}

// tellResult shows what the action returned, by the answer that it is.
func (w *teller) tellResult(e *Event, d *detail) {
	if len(e.Want) > 0 && !SameArgs(e.Want, e.Result) {
		d.add("WANTED %s", jsonText(e.Want, longText))
	}
	if len(e.Result) == 0 {
		return
	}
	all := w.answers[e.Action]
	for i := len(all) - 1; i >= 0; i-- {
		if SameArgs(all[i].result, e.Result) {
			d.add("the answer of %s", orElse(w.labels[all[i].call], "a hit"))
			return
		}
	}
	d.add("%s", jsonText(e.Result, longText))
}

var troubles = map[Kind]string{
	KindHang:  "the action never returned",
	KindLeak:  "something is still running",
	KindPanic: "the action panicked",
	KindSpin:  "calls without end at one instant",
}

func tellTrouble(e *Event, d *detail) {
	d.add("%s", troubles[e.Kind])
	if e.Error != "" {
		d.add("%s", quoted(e.Error, longText))
	}
}

// spread is a range of durations.
func spread(least, most time.Duration) string {
	if least == most {
		return span(least)
	}
	return span(least) + " to " + span(most)
}
