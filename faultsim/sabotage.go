package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/rehearse-go/rehearse/internal/near"
)

// AcceptedSin begins the keys of [Adapter].Accept that speak of a sin which may
// go unnoticed.
const AcceptedSin = "sin "

// Sabotage asks whether the rules that the adapter is held to would have noticed
// code that is wrong: the stage commits sins in the place of the code, which is
// right, one in each trial, and counts how often each of them is noticed. One that no
// rule ever notices is a blind spot, and fails the test; one that is noticed some of
// the times passes, and the table says how often. A blind spot passes where the
// adapter's Accept gives a reason for "sin NAME"; it often means that the policy does
// not declare what the code does. A sin is a mutation that is made at run time, between the code and
// its tools: see DeMillo, Lipton and Sayward, "Hints on Test Data Selection"
// (1978), for the question, and [ExploreSabotage] for that of a test written by
// hand.
//
//   - further calls: one attempt too many, one after a refusal, a success, a
//     cancel or the end; a blind repeat; one past a breaker
//   - waits that are too short or too long, hints that are ignored
//   - arguments that change, keys that change or are lost
//   - attempts without a limit, contexts that the tool is not given
//   - results that are dropped, altered or made up, errors that are swallowed or
//     replaced, second terminals, secrets that are handed on
//   - goroutines that are left behind, hangs and panics
//
// The schedules are those that [Check] draws, without crashes, drains and repeats
// at somebody's word. Each sin is committed in up to 20 of them that give
// occasion for it: what is a sin follows from the policy, so that a wait within
// its window is none. The table of all sins is logged; those for which no
// schedule gave occasion are below it, and no failure.
//
// Sabotage must be called outside a synctest bubble.
func Sabotage(t *testing.T, a Adapter) {
	t.Helper()
	o, err := ExploreSabotage(t, a, Test{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Logf("\n%s", o)
	for _, s := range o.Sins {
		if text := s.complaint(); text != "" {
			t.Errorf("%s", text)
		}
	}
}

// complaint words what is wrong with how the sin was seen; empty: nothing. An accepted
// sin may be seen now and then: by which rule else may hang on what else goes wrong.
func (s *Sin) complaint() string {
	listed := fmt.Sprintf("Accept lists %q (%q), and", AcceptedSin+s.Name, strings.TrimSpace(s.Accepted))
	switch {
	case s.Accepted != "" && s.Occasions == 0:
		return fmt.Sprintf("%s no schedule gave occasion for it, which needs %s: play more trials, or take it out", listed, s.Needs)
	case s.Accepted != "" && 2*s.Noticed > s.Occasions:
		return fmt.Sprintf("%s it was noticed %d times of %d: take it out", listed, s.Noticed, s.Occasions)
	case s.Blind() && s.Accepted == "":
		return fmt.Sprintf("blind-spot: the code %s, %d times, and nothing noticed it (%s)\n    advice: what would see it: %s; if it may go unnoticed, give a reason in Accept for %q\n\n%s\n%s",
			s.Does, s.Occasions, s.Name, s.Eye, AcceptedSin+s.Name, strings.TrimRight(s.Trace.Timeline(), "\n"), indent("schedule", s.Schedule.String()))
	}
	return ""
}

// validateSins reports accepted sins that are not there.
func (a *Adapter) validateSins() error {
	var known []string
	for _, k := range sins() {
		known = append(known, AcceptedSin+k.name)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Accept)) {
		if strings.HasPrefix(key, AcceptedSin) && !slices.Contains(known, key) {
			return fmt.Errorf("adapter %q: Accept names %q, and there is no such sin: correct the name, or take it out%s", a.Name, key, near.Meant(key, known))
		}
	}
	return nil
}

// String is a table: the sins that went unnoticed first, then those that were
// noticed, the weakest first, and those for which there was no occasion.
func (o SabotageOutcome) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "sin\tnoticed\tby\n")
	list := slices.Clone(o.Sins)
	slices.SortStableFunc(list, func(a, b Sin) int { return a.rank() - b.rank() })
	for _, s := range list {
		if s.Occasions > 0 {
			fmt.Fprintf(w, "%s\t%d of %d\t%s\n", s.Name, s.Noticed, s.Occasions, s.witnesses())
		}
	}
	w.Flush()
	fmt.Fprintf(&b, "no occasion in %s:\n", schedules(o.Trials))
	for _, s := range list {
		if s.Occasions == 0 {
			fmt.Fprintf(w, "  %s\tneeds %s\n", s.Name, s.Needs)
		}
	}
	w.Flush()
	return b.String()
}

func schedules(n int) string {
	if n == 1 {
		return "1 schedule"
	}
	return fmt.Sprintf("%d schedules", n)
}

// rank orders sins by the share that was noticed.
func (s *Sin) rank() int {
	if s.Occasions == 0 {
		return 0
	}
	return 1000 * s.Noticed / s.Occasions
}

// mostWitnesses is how many rules a line names.
const mostWitnesses = 3

// witnesses words what noticed the sin.
func (s *Sin) witnesses() string {
	if s.Blind() {
		if s.Accepted != "" {
			return "nothing, accepted: " + strings.TrimSpace(s.Accepted)
		}
		return "nothing; it needs " + s.Eye
	}
	var list []string
	for i, w := range s.By {
		if i == mostWitnesses {
			list = append(list, fmt.Sprintf("%d more", len(s.By)-i))
			break
		}
		list = append(list, fmt.Sprintf("%s %d", w.Invariant, w.Times))
	}
	if s.Accepted != "" {
		list = append(list, "accepted: "+strings.TrimSpace(s.Accepted))
	}
	return strings.Join(list, ", ")
}
