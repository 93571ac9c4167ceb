package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

// A model that asks again has made another call; what code tries again below it has not.
func TestTheTrajectoryOfALoopIsWhatItsModelAskedFor(t *testing.T) {
	unavailable := errors.New("503 Service Unavailable")
	run := func(t *testing.T, tries int, say func(*scripted.Model) *scripted.Model) *trace.Trace {
		rec := &trace.Recorder{Clear: true}
		model := say(scripted.NewModel(t).Into(rec)).Say("It is 19 °C in Pune.")
		weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).Fail(trace.Transient, unavailable).Return(Forecast{Celsius: 19})
		again := func(ctx context.Context, args json.RawMessage) (out json.RawMessage, err error) {
			for range tries {
				if out, err = weather.CallJSON(ctx, args); err == nil {
					break
				}
			}
			return out, err
		}
		loop := agent{model: model.Reply, turns: 5, tools: toolbox{"weather": again}}
		_, err := trace.Do(t.Context(), rec, "forecast", func(ctx context.Context) (string, error) { return loop.run(ctx, "How warm is it in Pune?") })
		if err != nil {
			t.Fatal(err)
		}
		return rec.Trace()
	}
	pune := invariants.Step("weather").Args(`{"city":"Pune"}`)
	successes := invariants.Trajectory{Counted: invariants.SuccessfulAttempts}

	t.Run("the model asks again", func(t *testing.T) {
		tr := run(t, 1, func(m *scripted.Model) *scripted.Model {
			return m.Ask("weather", `{"city":"Pune"}`).Ask("weather", `{"city":"Pune"}`)
		})
		invariants.Verify(t, tr, invariants.Exact(pune, pune), successes.Exact(pune))
	})
	t.Run("the code tries again", func(t *testing.T) {
		tr := run(t, 2, func(m *scripted.Model) *scripted.Model { return m.Ask("weather", `{"city":"Pune"}`) })
		invariants.Verify(t, tr, invariants.Exact(pune), successes.Exact(pune))
		if found := invariants.Find(tr, invariants.Exact(pune, pune)); len(found) != 1 {
			t.Errorf("%d findings, wanted that the second step is missing", len(found))
		}
	})
}
