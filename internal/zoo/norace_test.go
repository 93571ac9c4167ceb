//go:build !race

package zoo

// rightTrials is what TestRightSubjects plays of each subject.
const rightTrials = 1000
