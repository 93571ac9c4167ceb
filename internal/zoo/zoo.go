// Package zoo keeps subjects on which the checks of rehearse are tested: right
// ones, on which nothing may be found, and faulty ones, each with one mistake
// as it is made in practice. Its test builds the kill table in
// docs/kill-table.md: which check finds which mistake.
//
// The faulty code is ordinary code that a tired engineer writes. It knows
// nothing of the checks.
package zoo

import "github.com/rehearse-go/rehearse/faultsim"

// A Specimen is one subject of the zoo.
type Specimen struct {
	Name    string // in kebab case
	Wrong   string // what went wrong, in a sentence; empty for a right subject
	Source  string // a case of the field collection, or an article
	Rule    string // the invariant that must name the fault
	Adapter faultsim.Adapter
}

// Articles that describe the faults.
const (
	testingRetries = "article: testing retry behaviour"
	handling       = "article: retries, timeouts, failure handling"
	retrySafe      = "article: retry-safe tools"
	toolErrors     = "article: tool errors, retries and timeouts"
	threeLayer     = "article: three-layer defence"
	tailAtScale    = "article: The Tail at Scale"
)

// Faulty returns the subjects with one fault each.
func Faulty() []Specimen {
	var all []Specimen
	for _, part := range [][]Specimen{
		counting(), refusals(), successes(), arguments(), keys(), waits(), hints(), deadlines(),
		cancels(), leftovers(), endings(), terminals(), effects(), reconciling(), web(), answers(), words(), asksEarly(), deletes(), spells(),
		breakers(), layers(), batches(), results(), caches(), hooks(), webBodies(), streams(), observations(), pages(), empties(), webBatches(),
		spending(), sessions(), owners(), spreading(), allowed(), escalations(), toolPolicies(), advices(), sinks(), hits(), overlaps(), winners(), tallies(),
		credentials(), schemas(), links(), together(), jitters(), limiters(), errands(), jobs(), drains(), desks(), crashedDesks(), recoveries(),
		countingLoops(), talkingLoops(), endingLoops(), wishingLoops(), modelLoops(), leaveLoops(), streamLoops(), agentLoops(),
	} {
		all = append(all, part...)
	}
	return all
}
