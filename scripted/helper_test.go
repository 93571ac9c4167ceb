package scripted_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// memory is a test that remembers what it was told.
type memory struct {
	mu       sync.Mutex
	reports  []string
	cleanups []func()
	ended    bool
}

func (m *memory) Helper() {}

func (m *memory) Errorf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		panic("Errorf after the test has ended")
	}
	m.reports = append(m.reports, fmt.Sprintf(format, args...))
}

func (m *memory) Cleanup(f func()) { m.cleanups = append(m.cleanups, f) }

// end ends the test as package testing does.
func (m *memory) end() []string {
	for i := len(m.cleanups) - 1; i >= 0; i-- {
		m.cleanups[i]()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	return m.reports
}

// watch hands f a test that remembers, and returns its reports after its end.
func watch(t *testing.T, f func(m *memory)) []string {
	t.Helper()
	m := &memory{}
	f(m)
	return m.end()
}

type Query struct {
	City string `json:"city"`
}

type Forecast struct {
	Celsius int      `json:"celsius"`
	Notes   []string `json:"notes,omitempty"`
}

func requireQuiet(t *testing.T, reports []string) {
	t.Helper()
	require.Empty(t, reports)
}
