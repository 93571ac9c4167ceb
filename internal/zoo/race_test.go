//go:build race

package zoo

// rightTrials is what TestRightSubjects plays of each subject. The race detector
// keeps some memory of every goroutine that there ever was.
const rightTrials = 100

// neededTrials and loopTrials are less too: what a rule finds is shown without the race
// detector.
const neededTrials, loopTrials = 200, 30

// killStep leaves most of the kill table to the run without the race detector.
const killStep = 4
