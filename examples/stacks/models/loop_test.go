// Package models_test drives loops by the SDKs of three model providers, openai-go
// (chat completions and responses), anthropic-sdk-go and genai, against the double of a
// model that speaks their APIs, and pins what the SDKs do where the wire fails.
package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A talk is a conversation with a model, by the SDK of its provider.
type talk interface {
	// ask asks for the next turn, and keeps it in the conversation.
	ask(context.Context) (text string, calls []trace.ToolCall, err error)
	// show hands on what came of the calls of a turn, all of them.
	show([]trace.ToolResult)
}

type query struct {
	City string `json:"city"`
}

type report struct {
	Celsius int `json:"celsius"`
}

const (
	question = "How warm is it in Pune, and in Oslo?"
	answer   = "19 °C in Pune, 7 °C in Oslo."
	mostRuns = 6
)

// run is the loop: it asks the model on until it asks for nothing.
func run(ctx context.Context, t talk, weather trace.Func[query, report]) (string, error) {
	for range mostRuns {
		text, calls, err := t.ask(ctx)
		switch {
		case err != nil:
			return "", fmt.Errorf("the model gave no answer: %w", err)
		case len(calls) == 0 && text == "":
			return "", errors.New("the model said nothing")
		case len(calls) == 0:
			return text, nil
		}
		results := make([]trace.ToolResult, len(calls))
		for i, c := range calls {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			results[i] = call(ctx, c, weather)
		}
		t.show(results)
	}
	return "", errors.New("no answer after six turns")
}

// call carries out what the model asks for. A failure is a result too.
func call(ctx context.Context, c trace.ToolCall, weather trace.Func[query, report]) trace.ToolResult {
	r := trace.ToolResult{ID: c.ID, Tool: c.Tool}
	fail := func(format string, args ...any) trace.ToolResult {
		r.Text, r.Failed = fmt.Sprintf(format, args...), true
		return r
	}
	if c.Tool != "weather" {
		return fail("there is no tool %s", c.Tool)
	}
	var q query
	if err := json.Unmarshal([]byte(c.Args), &q); err != nil {
		return fail("the arguments are no JSON: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	out, err := weather(trace.CallID(ctx, c.ID), q)
	if err != nil {
		return fail("the weather service did not answer: %v", err)
	}
	r.Text = fmt.Sprintf("%d °C", out.Celsius)
	return r
}

var errWeather = errors.New("weather: service unavailable")

// script is what the model does that behaves: both cities in one turn, and the answer.
func script(streams bool) faultsim.Script {
	return faultsim.Script{Streams: streams, Steps: []faultsim.Step{
		faultsim.AskFor("weather", query{"Pune"}).And("weather", query{"Oslo"}),
		faultsim.Say(answer),
	}}
}

// A stack is one SDK: how it is made over a client, and what it does by itself.
type stack struct {
	name   string
	api    faultsim.Provider
	policy invariants.Policy
	open   func(c *http.Client, streams bool) func() talk
}

// adapter plugs the loop over the stack in.
func (k stack) adapter(streams bool) faultsim.Adapter {
	name := k.name
	if streams {
		name += " stream"
	}
	return faultsim.Adapter{
		Name:   name,
		Policy: invariants.Policy{ID: "one try", MaxAttempts: 1, Attempt: time.Minute, Repeatable: true},
		Loop:   &invariants.Loop{ID: name + "/v1", Turns: mostRuns, Tools: []string{"weather"}, Model: k.policy},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			weather := faultsim.Tool(s, "weather", func(_ context.Context, q query) (report, error) {
				return report{map[string]int{"Pune": 19, "Oslo": 7}[q.City]}, nil
			}, faultsim.Errors{trace.Transient: errWeather})
			open := k.open(s.Model("model", script(streams)).Client(k.api), streams) // the one line that plugs it in
			return func(ctx context.Context) (any, error) { return run(ctx, open(), weather) }
		},
	}
}
