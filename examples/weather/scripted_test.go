package weather_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/weather"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// The tool fails twice and then answers: three calls, the same arguments, and
// the third answer.
func TestRetriesUntilTheToolAnswers(t *testing.T) {
	tool := scripted.NewTool[weather.Query, weather.Forecast](t, "weather").
		Fail(trace.Transient, weather.ErrUnavailable).Times(2).
		Return(weather.Forecast{Celsius: 19})
	agent := weather.New(tool.Call)
	agent.Sleep = new(scripted.Sleeper).Sleep

	got, err := agent.Forecast(t.Context(), "Pune")

	require.NoError(t, err)
	require.Equal(t, weather.Forecast{Celsius: 19}, got)
	require.Equal(t, 3, tool.Calls())
	invariants.Verify(t, tool.Trace(), invariants.MaxAttempts(3), invariants.SameArguments(), invariants.StopAfterSuccess())
}

// Three failures use the attempts up: two waits, exactly as declared, none
// after the last attempt, and an error that keeps the last failure.
func TestStopsWhenTheAttemptsAreUsedUp(t *testing.T) {
	tool := scripted.NewTool[weather.Query, weather.Forecast](t, "weather").
		Fail(trace.Transient, weather.ErrUnavailable).Times(3)
	var sleeper scripted.Sleeper
	agent := weather.New(tool.Call)
	agent.Sleep = sleeper.Sleep

	_, err := agent.Forecast(t.Context(), "Pune")

	require.ErrorIs(t, err, weather.ErrUnavailable)
	failure, ok := errors.AsType[*weather.Error](err)
	require.True(t, ok)
	require.Equal(t, 3, failure.Attempts)
	require.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, sleeper.Waits())
}
