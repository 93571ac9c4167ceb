package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

type forecast struct {
	Celsius int `json:"celsius"`
}

// ask is an agent's tool call: at most two attempts, a second apart.
func ask(ctx context.Context, s *sdk.ClientSession, city string) (f forecast, err error) {
	for range 2 {
		var res *sdk.CallToolResult
		res, err = s.CallTool(ctx, &sdk.CallToolParams{Name: "weather", Arguments: map[string]any{"city": city}})
		if err != nil {
			return f, err
		}
		if !res.IsError {
			return f, json.Unmarshal([]byte(words(res)), &f)
		}
		err = errors.New(words(res))
		time.Sleep(time.Second)
	}
	return f, err
}

// The test of the package's documentation.
func TestForecastReadsTheFlag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).
			Fail(trace.Transient, mcp.ToolError("", "try again later")).After(2 * time.Second).
			Return(mcp.Structured(forecast{Celsius: 19}))
		session, err := newClient().Connect(t.Context(), srv.Transport(), nil)
		require.NoError(t, err)
		defer session.Close()

		got, err := ask(t.Context(), session, "Pune")

		require.NoError(t, err)
		require.Equal(t, 19, got.Celsius)
		invariants.Verify(t, srv.Trace(), invariants.MaxAttempts(2), invariants.SameArguments())
	})
}

// printing stands in for the t of a test, which an example has not.
type printing struct{}

func (printing) Helper()                           {}
func (printing) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printing) Cleanup(func())                    {}

func ExampleNewServer() {
	ctx := context.Background()
	srv := mcp.NewServer(printing{})
	srv.Tool("order", nil).Lose(trace.Reset, mcp.ErrLost)
	session, err := newClient().Connect(ctx, srv.Transport(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	_, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "order"})
	fmt.Println(err, errors.Is(err, mcp.ErrLost))
	_, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "order"})
	fmt.Println(errors.Is(err, sdk.ErrConnectionClosed))
	fmt.Println("done:", len(srv.Trace().Actions()[0].Effects))
	// Output:
	// calling "tools/call": EOF true
	// true
	// done: 1
}
