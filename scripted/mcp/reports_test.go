package mcp_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/stretchr/testify/require"
)

// scripts are tests that go wrong. Each makes one report.
var scripts = map[string]func(*testing.T, *memory){
	"extra call": func(t *testing.T, m *memory) {
		srv := mcp.NewServer(m)
		srv.Tool("weather", nil).
			Return(mcp.Text("19"))
		call(t, srv, "weather", 2)
	},
	"unused steps": func(_ *testing.T, m *memory) {
		mcp.NewServer(m).Tool("weather", nil).
			Return(mcp.Text("19")).Times(2)
	},
	"unknown tool": func(t *testing.T, m *memory) {
		srv := mcp.NewServer(m)
		srv.Tool("weather", nil)
		srv.Tool("almanac", nil)
		call(t, srv, "wether", 2)
	},
	"unknown tool of an empty server": func(t *testing.T, m *memory) { call(t, mcp.NewServer(m), "weather", 1) },
	"tool twice": func(_ *testing.T, m *memory) {
		srv := mcp.NewServer(m)
		srv.Tool("weather", nil)
		srv.Tool("weather", nil)
	},
	"tool without a name":      func(_ *testing.T, m *memory) { mcp.NewServer(m).Tool("", nil) },
	"schema of no object":      func(_ *testing.T, m *memory) { mcp.NewServer(m).Tool("weather", map[string]any{"type": "string"}) },
	"schema that is no JSON":   func(_ *testing.T, m *memory) { mcp.NewServer(m).Tool("weather", func() {}) },
	"redefine what is not":     func(_ *testing.T, m *memory) { mcp.NewServer(m).Redefine("weather", nil) },
	"redefine by no schema":    func(_ *testing.T, m *memory) { redefine(m, []string{"city"}) },
	"remove what is not":       func(_ *testing.T, m *memory) { mcp.NewServer(m).Remove("weather") },
	"no recorder":              func(_ *testing.T, m *memory) { mcp.NewServer(m).Into(nil) },
	"a removed tool is called": func(t *testing.T, m *memory) { removed(t, m) },
}

func redefine(m *memory, schema any) {
	srv := mcp.NewServer(m)
	srv.Tool("weather", nil)
	srv.Redefine("weather", schema)
}

func removed(t *testing.T, m *memory) {
	srv := mcp.NewServer(m)
	srv.Tool("weather", nil)
	srv.Remove("weather")
	call(t, srv, "weather", 1)
}

// call calls the tool n times, whatever comes of it.
func call(t *testing.T, srv *mcp.Server, name string, n int) {
	s, err := newClient().Connect(t.Context(), srv.Transport(), nil)
	require.NoError(t, err)
	defer s.Close()
	for range n {
		_, _ = callTool(context.Background(), s, name)
	}
}

var line = regexp.MustCompile(`(\w+_test\.go):\d+`)

func TestReports(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := &memory{}
				script(t, m)
				text := strings.Join(m.end(), "\n---\n")
				gold.Equal(t, filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden"), line.ReplaceAllString(text, "$1:1")+"\n")
			})
		})
	}
}
