package mcp_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/stretchr/testify/require"
)

// memory is a test that remembers what it was told.
type memory struct {
	mu       sync.Mutex
	reports  []string
	cleanups []func()
}

func (m *memory) Helper() {}

func (m *memory) Errorf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reports = append(m.reports, fmt.Sprintf(format, args...))
}

func (m *memory) Cleanup(f func()) { m.cleanups = append(m.cleanups, f) }

// end ends the test as package testing does.
func (m *memory) end() []string {
	for i := len(m.cleanups) - 1; i >= 0; i-- {
		m.cleanups[i]()
	}
	return m.reports
}

// wires are the ways to a server.
var wires = map[string]func(*mcp.Link) sdk.Transport{
	"in memory": (*mcp.Link).Transport,
	"over HTTP": func(l *mcp.Link) sdk.Transport { return l.HTTP() },
}

// onEachWire runs the test in a bubble for each of them.
func onEachWire(t *testing.T, f func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession)) {
	for name, wire := range wires {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f(t, func(l *mcp.Link) *sdk.ClientSession {
					s, err := newClient().Connect(t.Context(), wire(l), nil)
					require.NoError(t, err)
					t.Cleanup(func() { s.Close() })
					return s
				})
			})
		})
	}
}

// weather calls the tool of that name.
func weather(ctx context.Context, s *sdk.ClientSession) (*sdk.CallToolResult, error) {
	return callTool(ctx, s, "weather")
}

func callTool(ctx context.Context, s *sdk.ClientSession, name string) (*sdk.CallToolResult, error) {
	return s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: map[string]any{"city": "Pune"}})
}

// bubble runs the test in virtual time.
func bubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
