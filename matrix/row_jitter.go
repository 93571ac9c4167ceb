package matrix

import "github.com/rehearse-go/rehearse/faultsim"

// jitterRows hold the ends of the window, which chance hardly ever meets. They
// are for code that takes its random numbers from the stage.
func jitterRows() []Row {
	return []Row{
		{Name: "jitter-least", Proves: "The shortest wait that the jitter can give is within the window, and nothing breaks at it.", Schedule: pinned(faultsim.JitterLeast)},
		{Name: "jitter-greatest", Proves: "The longest wait that the jitter can give is within the window.", Schedule: pinned(faultsim.JitterGreatest)},
	}
}

func pinned(pin faultsim.JitterPin) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		sched, err := transientUntilExhausted(s)
		sched.Jitter = pin
		return sched, err
	}
}
