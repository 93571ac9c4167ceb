package zoo

import (
	"context"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
)

func caches() []Specimen {
	return []Specimen{
		{"failure-cached", "The place for the first load is filled by a failure too, and every later action gets that failure again.",
			"F079", "conforms", built(policy(), throttling(), func(*faultsim.Stage) ask { return (&loader{keeps: true}).forecast })},
	}
}

// A loader remembers how the last load ended.
type loader struct {
	keeps bool // it answers with a failure that it remembers

	mu   sync.Mutex
	last error
}

func (l *loader) forecast(ctx context.Context, call tool) (forecast, error) {
	if err := l.remembered(); err != nil && l.keeps {
		return forecast{}, err
	}
	f, err := patient(ctx, call)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
	return f, err
}

func (l *loader) remembered() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
