//go:build !race

package zoo

// rightTrials is what TestRightSubjects plays of each subject.
const rightTrials = 250

// neededTrials is what TestEachNarrowRuleIsNeeded plays of a subject, and loopTrials of a
// loop: a run takes many times as long as an action, and most faults are found in the
// first hundred.
const neededTrials, loopTrials = 250, 100

// oneOf is how many subjects, or rules, the tests go on by: they take all.
const oneOf = 1
