//go:build race

package zoo

// rightTrials is what TestRightSubjects plays of each subject. The race detector
// keeps some memory of every goroutine that there ever was.
const rightTrials = 100

// neededTrials and loopTrials are less too: what a rule finds is shown without the race
// detector.
const neededTrials, loopTrials = 200, 30

// oneOf leaves most of what is done with every subject, or for every rule, to the run
// without the race detector.
const oneOf = 4
