package invariants_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// trip is a run of an agent that plans a trip: a search that is retried once, a
// booking and a mail.
func trip() *tracetest.Script {
	return tracetest.New().Begin("trip").
		Call("search", pune).Answer(transient).After(sec).Call("search", pune).Answer(ok).
		Call("book", `{"guest":{"name":"Ann","age":7},"room":7}`).Answer(ok).
		After(sec).Call("mail", `{"to":"ann@example.com"}`).Answer(ok)
}

var (
	searchPune = Step("search").Args(pune)
	bookSeven  = Step("book").Partial(map[string]any{"room": 7})
	mailAnn    = Step("mail")
	payAny     = Step("pay")
)

func TestATripIsComparedInEachWay(t *testing.T) {
	whole := []StepMatcher{searchPune, bookSeven, mailAnn}
	for _, c := range []struct {
		name string
		inv  Invariant
		want string // of the first line; empty: it holds
	}{
		{"exact", Exact(whole...), ""},
		{"exact, one too few", Exact(searchPune, bookSeven), "trajectory-exact: trip: mail is not in the trajectory (call 3, at 2s)"},
		{"exact, one too many", Exact(searchPune, bookSeven, mailAnn, payAny), "trajectory-exact: trip: step 4 is missing: pay was never called"},
		{"exact, another order", Exact(bookSeven, searchPune, mailAnn), "trajectory-exact: trip: step 1: book was called after search, which is step 2 (call 2, at 1s)"},
		{"no call at all", Exact(), "trajectory-exact: trip: search was called, and no call is wanted (call 1, at 1s); 3 differences in all"},
		{"in order", InOrder(searchPune, mailAnn), ""},
		{"in order, another order", InOrder(mailAnn, searchPune), "trajectory-in-order: trip: step 1: mail was called after search, which is step 2 (call 3, at 2s)"},
		{"unordered", Unordered(mailAnn, bookSeven, searchPune), ""},
		{"unordered, one too few", Unordered(mailAnn, searchPune), "trajectory-unordered: trip: book is not in the trajectory (call 2, at 1s)"},
		{"at least", AtLeast(mailAnn, searchPune), ""},
		{"at least, one missing", AtLeast(mailAnn, payAny), "trajectory-at-least: trip: step 2 is missing: pay was never called"},
		{"at most", AtMost(payAny, mailAnn, bookSeven, searchPune), ""},
		{"at most, one too many", AtMost(mailAnn, searchPune), "trajectory-at-most: trip: book is not in the trajectory (call 2, at 1s)"},
		{"before", Before(searchPune, bookSeven), ""},
		{"before, the other way", Before(mailAnn, bookSeven), "trajectory-before: trip: book was called before mail had been called (at 1s)"},
		{"before, and it never comes", Before(payAny, mailAnn), "trajectory-before: trip: mail was called before pay had been called (at 2s)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := verified(trip().End().Trace(), c.inv)
			if c.want == "" {
				require.Empty(t, r.errors)
				return
			}
			require.Len(t, r.errors, 1)
			require.Equal(t, c.want, r.first())
		})
	}
}

func TestArgumentsOfAStep(t *testing.T) {
	const args = `{"city":"Pune","guest":{"name":"Ann","age":7},"rooms":[{"n":1,"beds":2},{"n":2}]}`
	type query struct {
		City string `json:"city"`
	}
	s := Step("search")
	for _, c := range []struct {
		name string
		step StepMatcher
		args string
		want string // what the finding says; empty: it holds
	}{
		{"anything", s, args, ""},
		{"exact, in another writing", s.Args(`{ "city" : "Pune" }`), pune, ""},
		{"exact, from a struct", s.Args(query{"Pune"}), pune, ""},
		{"exact, a number in another writing", s.Args(`{"n":1.0}`), `{"n":1}`, ""},
		{"exact, large numbers", s.Args(`{"n":9007199254740993}`), `{"n":9007199254740992}`, "n 9007199254740992 instead of 9007199254740993"},
		{"another value", s.Args(pune), paris, `city "Paris" instead of "Pune"`},
		{"a field too many", s.Args(pune), `{"city":"Pune","unit":"C"}`, `unit "C" instead of none`},
		{"a field too few", s.Args(`{"city":"Pune","unit":"C"}`), pune, `no unit instead of "C"`},
		{"null is a value", s.Args(`{"city":null}`), `{}`, `no city instead of null`},
		{"null and no arguments", s.Args(nil), "", ""},
		{"no arguments", s.Args(pune), "", `null instead of {"city":"Pune"}`},
		{"a text and a number", s.Args(`{"n":"1"}`), `{"n":1}`, `n 1 instead of "1"`},
		{"an empty list and an empty object", s.Args(`{"n":[]}`), `{"n":{}}`, `n {} instead of []`},
		{"both empty", s.Args(`{"n":[]}`), `{"n":[]}`, ""},
		{"partial", s.Partial(pune), args, ""},
		{"partial, nested", s.Partial(`{"guest":{"name":"Ann"}}`), args, ""},
		{"partial, another value within", s.Partial(`{"guest":{"name":"Bob"}}`), args, `guest.name "Ann" instead of "Bob"`},
		{"partial, in a list", s.Partial(`{"rooms":[{"n":1},{"n":2}]}`), args, ""},
		{"partial, a list that is longer", s.Partial(`{"rooms":[{"n":1}]}`), args, `rooms[1] {"n":2} instead of none`},
		{"partial, a list that is shorter", s.Partial(`{"rooms":[{},{},{"n":3}]}`), args, `no rooms[2] instead of {"n":3}`},
		{"partial, a field that is not there", s.Partial(`{"date":"1 May"}`), args, `no date instead of "1 May"`},
		{"partial, of nothing", s.Partial(`{}`), args, ""},
		{"only", s.Args(args).Only("city"), pune, ""},
		{"only, nested", s.Args(args).Only("guest.name"), `{"guest":{"name":"Ann","age":8}}`, ""},
		{"only, an object", s.Args(args).Only("guest"), `{"guest":{"name":"Ann","age":8}}`, `guest.age 8 instead of 7`},
		{"only, and it is not there", s.Args(args).Only("city", "guest.name"), pune, `no guest.name instead of "Ann"`},
		{"where", s.Where(inIndia), pune, ""},
		{"where it does not hold", s.Where(inIndia), paris, `{"city":"Paris"}, which Where refuses: "Paris" is not in India`},
		{"partial and where", s.Partial(pune).Where(inIndia), args, ""},
		{"where, without arguments", s.Where(func(args json.RawMessage) error { return json.Unmarshal(args, new(query)) }), "", ""},
		{"several fields", s.Args(`{"a":1,"b":2,"c":3,"d":4,"e":5}`), `{}`, "no a instead of 1, no b instead of 2, no c instead of 3, 2 fields more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(begin().Call("search", c.args).Answer(ok).End().Trace(), Exact(c.step))
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, "step 1: search was called with "+c.want+" (call 1, at 0s)", found[0].Text)
		})
	}
}

func inIndia(args json.RawMessage) error {
	var q struct{ City string }
	if err := json.Unmarshal(args, &q); err != nil || q.City == "Pune" || q.City == "Agra" {
		return err
	}
	return fmt.Errorf("%q is not in India", q.City)
}

func TestWhichAttemptsCount(t *testing.T) {
	search, book := Step("search"), Step("book")
	retried := func() *tracetest.Script {
		return begin().Call("search", pune).Answer(transient).Call("search", pune).Answer(ok)
	}
	calls := func(counted Counted, steps ...StepMatcher) Invariant {
		return Trajectory{Counted: counted}.Exact(steps...)
	}
	for _, c := range []struct {
		name  string
		tr    *tracetest.Script
		holds Invariant
	}{
		{"a call with its retries is one", retried(), calls(FinalAttempts, search)},
		{"and its last arguments count", begin().Call("search", pune).Answer(trace.Invalid).Call("search", paris).Answer(ok), calls(FinalAttempts, search.Args(paris))},
		{"a failed one counts", begin().Call("search", pune).Answer(transient).Call("book", pune).Answer(ok), calls(FinalAttempts, search, book)},
		{"the next page is another", begin().Call("search", `1`).Answer(ok).Call("search", `2`).Answer(ok), calls(FinalAttempts, search, search)},
		{"a call after the answer is another", retried().Call("search", pune).Answer(ok), calls(FinalAttempts, search, search)},
		{"and so is one after a no", begin().Call("search", pune).Answer(trace.Declined).Call("search", pune).Answer(ok), calls(FinalAttempts, search, search)},
		{"a hedge is not", begin().Call("search", pune).After(sec).Call("search", pune).AnswerTo(1, fine).Answer(cancelled), calls(FinalAttempts, search)},
		{"a hedge that wins", begin().Call("search", pune).After(sec).Call("search", pune).Answer(ok).AnswerTo(1, down), calls(FinalAttempts, search)},
		{"a retry that comes after another call", begin().Call("search", pune).Answer(transient).Call("book", pune).Answer(ok).Call("search", pune).Answer(ok), calls(FinalAttempts, book, search)},
		{"the successes", retried().Call("book", pune).Answer(trace.Declined), calls(SuccessfulAttempts, search)},
		{"all", retried(), calls(AllAttempts, search, search)},
		{"credentials are no step", begin().Auth("token").Answer(ok).Call("search", pune).Answer(ok), calls(AllAttempts, search)},
		{"a hit is no call", begin().Hit("search", pune, `1`, "").Call("book", pune).Answer(ok), calls(AllAttempts, book)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, Find(c.tr.End().Trace(), c.holds))
			require.Equal(t, 1, Applied(c.tr.Trace(), c.holds)["trajectory-exact"])
		})
	}
}

// A model that asks again has made another call; a loop that sends the same call
// again has not.
func TestCallsWithIDsOfTheirOwnAreStepsOfTheirOwn(t *testing.T) {
	for _, byNumber := range []bool{false, true} { // of the model's calls, where it does not keep its ids apart
		callsWithIDs(t, byNumber)
	}
}

func callsWithIDs(t *testing.T, byNumber bool) {
	for ids, want := range map[string]int{"": 1, "1 1": 1, "1 2": 2, "1 2 2": 2, "1 2 1 2": 2} {
		s := begin()
		for range max(2, len(strings.Fields(ids))) {
			s.Call("search", pune).Answer(transient)
		}
		tr := s.Fail("503").Trace()
		for n, id := range strings.Fields(ids) {
			if tr.Events[1+2*n].CallID = id; byNumber {
				tr.Events[1+2*n].CallID, tr.Events[1+2*n].Ask = "call", int(id[0]-'0')
			}
		}
		steps := make([]StepMatcher, want)
		for i := range steps {
			steps[i] = Step("search")
		}
		require.Empty(t, Find(tr, Exact(steps...)), ids)
		require.NotEmpty(t, Find(tr, Exact(append(steps, Step("search"))...)), ids)
	}
}

func TestWhichActionsAreJudged(t *testing.T) {
	two := func() *tracetest.Script {
		return tracetest.New().Begin("a").Call("search", pune).Answer(ok).End().Begin("b").Call("book", pune).Answer(transient).Fail("503")
	}
	search := Step("search")
	found := Find(two().Trace(), Exact(search))
	require.Len(t, found, 1)
	require.Equal(t, "b", found[0].Action)
	require.Equal(t, "step 1: book was called instead of search (call 1, at 0s)", found[0].Text)

	require.Empty(t, verified(two().Trace(), Trajectory{Action: "a"}.Exact(search)).errors)
	require.Empty(t, verified(two().Trace(), Trajectory{Succeeded: true}.Exact(search)).errors)
	require.Contains(t, verified(two().Trace(), Trajectory{Action: "c"}.Exact(search)).first(), "never applied")
	require.Contains(t, verified(two().Trace(), Trajectory{Action: "b", Succeeded: true}.Exact(search)).first(), "never applied")
}

func TestNoCallAtAll(t *testing.T) {
	require.Empty(t, verified(begin().End().Trace(), Exact()).errors)
	require.Empty(t, verified(begin().Auth("token").Answer(ok).End().Trace(), Exact()).errors)
	require.NotEmpty(t, verified(tries(transient).Fail("503").Trace(), Exact()).errors)
	require.NotEmpty(t, verified(begin().End().Trace(), Exact(payAny)).errors)
	require.Contains(t, verified(begin().End().Trace(), AtMost(payAny)).first(), "never applied")
	require.Contains(t, verified(begin().End().Trace(), Before(payAny, mailAnn)).first(), "never applied")
}

// Steps may follow where the trace stops before its action does. What nobody
// declared has no end.
func TestAnActionThatHasNotEndedMayStillGoOn(t *testing.T) {
	steps := []StepMatcher{Step("weather"), payAny}
	for _, inv := range []Invariant{Exact(steps...), Unordered(steps...), AtMost(steps...)} {
		require.Empty(t, verified(tries(ok).Trace(), inv).errors, inv.Name)
	}
	for _, inv := range []Invariant{InOrder(steps...), AtLeast(steps...)} {
		require.Contains(t, verified(tries(ok).Trace(), inv).first(), "never applied", inv.Name)
	}
	late := begin().Call("pay", pune).Answer(ok).Trace()
	require.NotEmpty(t, Find(late, Exact(steps...)), "the first step cannot come first any more")
	require.Empty(t, Find(late, Unordered(steps...)))

	undeclared := tracetest.New().Call("weather", pune).Answer(ok).Trace()
	for _, inv := range []Invariant{Exact(steps...), InOrder(steps...), Unordered(steps...), AtLeast(steps...)} {
		require.Equal(t, inv.Name+": step 2 is missing: pay was never called", verified(undeclared, inv).first())
	}
}

func TestACallThatCouldBeOfSeveralActionsMayBeTheStep(t *testing.T) {
	tr := tries(ok).Ambiguous("pay", pune).End().Trace()
	for _, inv := range []Invariant{Exact(payAny), AtLeast(payAny), Before(payAny, Step("weather"))} {
		require.Empty(t, Find(tr, inv))
		require.Zero(t, Applied(tr, inv)[inv.Name])
	}
}

// Before wants an answer, and not a call alone.
func TestBeforeWantsAnAnswer(t *testing.T) {
	check, payAny := Step("check"), Step("pay")
	success := Trajectory{Counted: SuccessfulAttempts}
	for _, c := range []struct {
		name string
		tr   *tracetest.Script
		inv  Invariant
		want string
	}{
		{"answered", begin().Call("check", pune).Answer(ok).Call("pay", pune), Before(check, payAny), ""},
		{"at one instant", begin().Call("check", pune).Call("pay", pune).AnswerTo(1, fine), Before(check, payAny), ""},
		{"under way", begin().Call("check", pune).Call("pay", pune).After(sec).AnswerTo(1, fine), Before(check, payAny), "pay was called before check was answered (at 0s)"},
		{"never answered", begin().Call("check", pune).After(sec).Call("pay", pune), Before(check, payAny), "pay was called before check was answered (at 1s)"},
		{"given up by its caller", begin().Call("check", pune).After(sec).Interrupt(timeout).Call("pay", pune), Before(check, payAny), ""},
		{"failed for good", begin().Call("check", pune).Answer(forbidden).Call("pay", pune), Before(check, payAny), ""},
		{"failed, and a success is wanted", begin().Call("check", pune).Answer(forbidden).Call("pay", pune), success.Before(check, payAny), "pay was called before check had succeeded (at 0s)"},
		{"a no, and a success is wanted", begin().Call("check", pune).Answer(trace.Declined).Call("pay", pune), success.Before(check, payAny), "pay was called before check had succeeded (at 0s)"},
		{"succeeded", begin().Call("check", pune).Answer(transient).Call("check", pune).Answer(ok).Call("pay", pune), success.Before(check, payAny), ""},
		{"before its retry", begin().Call("check", pune).Answer(transient).Call("pay", pune).Answer(ok).Call("check", pune).Answer(ok), Before(check, payAny), "pay was called before check had been called (at 0s)"},
		{"every attempt is judged", begin().Call("pay", pune).Answer(transient).Call("check", pune).Answer(ok).Call("pay", pune).Answer(ok), Before(check, payAny), "pay was called before check had been called (at 0s)"},
		{"for each of them one is enough", begin().Call("check", pune).Answer(ok).Call("pay", pune).Answer(ok).Call("pay", paris).Answer(ok), Before(check, payAny), ""},
		{"with these arguments", begin().Call("check", pune).Answer(ok).Call("pay", paris).Answer(ok), Before(check.Args(paris), payAny.Args(paris)), `pay was called before check {"city":"Paris"} had been called (at 0s)`},
		{"one tool", begin().Call("pay", pune).Answer(ok).Call("pay", paris).Answer(ok), Before(payAny.Args(pune), payAny.Args(paris)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(c.tr.Trace(), c.inv)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, c.want, found[0].Text)
		})
	}
}

// A step is not given to the first call that does, where another step needs it.
func TestMostStepsGetACall(t *testing.T) {
	tr := begin().Call("book", `{"room":7,"beds":2}`).Answer(ok).Call("book", `{"room":8,"beds":2}`).Answer(ok).End().Trace()
	beds, seven := Step("book").Partial(`{"beds":2}`), Step("book").Partial(`{"room":7}`)
	require.Empty(t, Find(tr, Unordered(beds, seven), AtLeast(beds, seven), AtMost(beds, seven)))
	require.Empty(t, Find(tr, AtMost(seven, beds, beds)))
	found := Find(tr, AtLeast(seven, seven))
	require.Len(t, found, 1)
	require.Equal(t, "step 2: book was called with room 8 instead of 7 (call 2, at 0s)", found[0].Text)
}

// What fits is told before what nearly does, and of two calls that differ the one
// that differs by less.
func TestTheNearestCallIsTakenForAStep(t *testing.T) {
	search, book := Step("search"), Step("book")
	tr := begin().Call("search", paris).Answer(ok).Call("search", `{"city":"Agra"}`).Answer(ok).End().Trace()
	found := Find(tr, Exact(search.Args(pune), search.Args(paris)))
	require.Len(t, found, 1)
	require.Equal(t, `step 1 is missing: search {"city":"Pune"} was not called; 2 differences in all`, found[0].Text)

	tr = begin().Call("book", `{"beds":3,"room":8}`).Answer(ok).Call("book", `{"beds":3,"room":7}`).Answer(ok).Call("book", `{"beds":4,"room":9}`).Answer(ok).End().Trace()
	for _, inv := range []Invariant{AtLeast(book.Args(`{"beds":2,"room":7}`)), InOrder(book.Args(`{"beds":2,"room":7}`))} {
		found = Find(tr, inv)
		require.Len(t, found, 1)
		require.Equal(t, "step 1: book was called with beds 3 instead of 2 (call 2, at 0s)", found[0].Text)
	}
}

// A trace that keeps no values in clear cannot be compared by values, and the
// finding says so.
func TestDigestsAreNotTakenForOtherArguments(t *testing.T) {
	r := &trace.Recorder{}
	ctx, op := r.Begin(t.Context(), "trip")
	r.Call(ctx, trace.Call{Tool: "search", Args: []byte(pune)}).Answer(fine, nil, nil)
	op.End(trace.Ending{})
	found := Find(r.Trace(), Exact(searchPune))
	require.Len(t, found, 1)
	require.Contains(t, found[0].Advice, "Recorder.Clear")
	require.Empty(t, Find(r.Trace(), Exact(Step("search"))))
}

// A trajectory that cannot be read is one clear finding on every trace.
func TestATrajectoryThatCannotBeReadIsAFinding(t *testing.T) {
	s := Step("search")
	var b strings.Builder
	for _, inv := range []Invariant{
		InOrder(), Unordered(), AtLeast(), AtMost(),
		Exact(s, Step("")), Exact(StepMatcher{}), Before(s, Step("")),
		Exact(s.Args("Pune")), Exact(s.Args("")), Exact(s.Args(`{"a":1}{`)), Exact(s, s.Args(make(chan int))), Exact(s.Args(json.RawMessage(nil))),
		Exact(s.Partial(7)), Exact(s.Partial("{")), Exact(s.Args(pune).Partial(pune)), Exact(s.Args(pune).Args(pune)),
		Exact(s.Only("city")), Exact(s.Partial(pune).Only("city")), Exact(s.Args(pune).Only()), Exact(s.Args(pune).Only("town")), Exact(s.Args(`{"a":[{"b":1}]}`).Only("a.b")),
		Exact(s.Where(nil)), Exact(s.Where(inIndia).Where(inIndia)),
		Trajectory{Counted: "some"}.Exact(s), Trajectory{Counted: "last"}.Before(s, s),
		Exact(Step("a\nb").Args("\n")),
	} {
		require.NotEmpty(t, inv.Rule)
		for _, tr := range []*trace.Trace{{}, trip().Trace()} {
			require.Len(t, Find(tr, inv), 1)
		}
		fmt.Fprint(&b, Find(trip().Trace(), inv)[0])
	}
	golden(t, "trajectories.golden", b.String())
}

// A step is a value: what is made of it leaves it as it was.
func TestStepsAreValues(t *testing.T) {
	s := Step("search").Args(`{"city":"Pune","unit":"C"}`)
	city, unit := s.Only("city"), s.Only("unit")
	tr := begin().Call("search", pune).Answer(ok).End().Trace()
	require.Empty(t, Find(tr, Exact(city)))
	require.NotEmpty(t, Find(tr, Exact(unit)))
	require.NotEmpty(t, Find(tr, Exact(s)))
	steps := []StepMatcher{city}
	inv := Exact(steps...)
	steps[0] = unit
	require.Empty(t, Find(tr, inv))
}

var errNever = errors.New("never")

// The wording of what a person reads is a product.
func TestTrajectoriesReadWell(t *testing.T) {
	long := begin()
	var steps []StepMatcher
	for i := range 30 {
		args := fmt.Sprintf(`{"page":%d}`, i)
		steps = append(steps, Step("list").Args(args))
		if i == 17 {
			args = `{"page":71}`
		}
		if i != 20 {
			long.Call("list", args).Answer(ok).After(100 * ms)
		}
	}
	search, book, mail := Step("search"), Step("book"), Step("mail")
	var b strings.Builder
	for _, c := range []struct {
		name string
		tr   *tracetest.Script
		inv  Invariant
	}{
		{"another room", trip(), Exact(searchPune, Step("book").Partial(`{"room":8}`), mailAnn)},
		{"only the named fields", trip(), Exact(searchPune, Step("book").Args(`{"guest":{"name":"Bob"},"room":8,"hotel":1}`).Only("room", "guest.name"), mailAnn)},
		{"a function", trip(), Exact(searchPune, Step("book").Where(func(json.RawMessage) error { return errNever }), mailAnn)},
		{"a step is missing", trip(), InOrder(searchPune, payAny, mailAnn)},
		{"a call too many", trip(), Exact(searchPune, mailAnn)},
		{"another tool", trip(), Exact(searchPune, payAny, mailAnn)},
		{"too late", trip(), Exact(mail, search, book)},
		{"too early", trip(), InOrder(book, search)},
		{"twice", begin().Call("pay", `{"n":7}`).Answer(ok).After(sec).Call("pay", `{"n":7}`).Answer(ok), Exact(payAny)},
		{"once only", begin().Call("pay", `{"n":7}`).Answer(ok), AtLeast(payAny, payAny)},
		{"the same tool with others", begin().Call("search", pune).Answer(ok).Call("search", paris).Answer(ok), InOrder(search.Args(paris), search.Args(pune))},
		{"neither", begin().Call("search", pune).Answer(ok).Call("search", paris).Answer(ok), AtMost(search.Args(pune), search.Args(pune))},
		{"further calls are no fault", begin().Call("look", `1`).Answer(ok).Call("look", `2`).Answer(ok).Call("search", pune).Answer(ok).Call("look", `3`).Answer(ok), AtLeast(search, book)},
		{"without end", tries(ok, ok, ok, ok, ok, ok, ok, ok, ok, ok), AtLeast(payAny)},
		{"a long one", long, Exact(steps...)},
		{"a long argument", begin().Call("search", `{"city":"`+strings.Repeat("Pünè ", 40)+`"}`).Answer(ok), Unordered(searchPune)},
		{"lines in a name", begin().Call("se\narch", `{"ci\nty":"Pu\nne"}`).Answer(ok).Call("book", pune), Unordered(Step("se\narch").Args(pune))},
		{"one with other arguments too many", trip().Call("search", paris).Answer(ok), Exact(searchPune, book, mail)},
		{"one with other arguments, elsewhere", trip(), InOrder(book, Step("search").Args(paris), mail)},
		{"before", begin().Call("book", pune).Answer(ok), Before(search, book)},
		{"beside", begin().Call("search", pune).Call("book", pune).After(sec).Answer(ok).AnswerTo(1, fine), Before(search, book)},
	} {
		found := Find(c.tr.End().Trace(), c.inv)
		require.Len(t, found, 1, c.name)
		fmt.Fprintf(&b, "== %s\n%v", c.name, found[0])
	}
	golden(t, "trajectory.golden", b.String())
}
