package matrix

import "github.com/rehearse-go/rehearse/faultsim"

// jitterRows hold the ends of the window, which chance hardly ever meets. They
// are for code that takes its random numbers from the stage.
func jitterRows() []Row {
	return []Row{
		{"jitter-least", "The shortest wait that the jitter can give is within the window, and nothing breaks at it.", pinned(faultsim.JitterLeast), Timing},
		{"jitter-greatest", "The longest wait that the jitter can give is within the window.", pinned(faultsim.JitterGreatest), Timing},
	}
}

func pinned(pin faultsim.JitterPin) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		sched, err := transientUntilExhausted(s)
		sched.Jitter = pin
		return sched, err
	}
}
