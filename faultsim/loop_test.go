package faultsim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

type query struct {
	City string `json:"city"`
}

type celsius struct {
	Celsius int `json:"celsius"`
}

var (
	errWeatherDown = errors.New("weather: service unavailable")
	errNoCity      = errors.New("weather: no such city")
)

// assistant is a loop as somebody writes it first.
type assistant struct {
	model   trace.ModelFunc
	weather func(context.Context, query) (celsius, error)
}

func (a *assistant) run(ctx context.Context, request string) (string, error) {
	talk := []trace.Message{{From: trace.FromUser, Text: request}}
	known := map[query]string{} // what came of a call: asked again, it is not made again
	for range 6 {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		reply, err := a.model(ctx, trace.Prompt{Messages: talk, Tools: []string{"weather"}})
		if err != nil {
			return "", err
		}
		if len(reply.Calls) == 0 && (reply.Text == "" || reply.Stop != trace.StopEnd) {
			return "", errors.New("no answer")
		}
		if len(reply.Calls) == 0 {
			return reply.Text, nil
		}
		talk = append(talk, trace.Message{From: trace.FromModel, Text: reply.Text, Calls: reply.Calls})
		results := trace.Message{From: trace.FromTool}
		for _, c := range reply.Calls {
			text, err := a.call(ctx, c, reply.Stop, known)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil {
				text = err.Error()
			}
			results.Results = append(results.Results, trace.ToolResult{ID: c.ID, Tool: c.Tool, Text: text, Failed: err != nil})
		}
		talk = append(talk, results)
	}
	return "", errors.New("too many turns")
}

func (a *assistant) call(ctx context.Context, c trace.ToolCall, stop trace.Stop, known map[query]string) (string, error) {
	var q query
	if err := json.Unmarshal([]byte(c.Args), &q); err != nil || c.Tool != "weather" || stop != trace.StopEnd {
		return "", fmt.Errorf("cannot call %s with %s", c.Tool, c.Args)
	}
	if _, asked := known[q]; !asked {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		known[q] = ""
		if out, err := a.weather(ctx, q); err == nil {
			known[q] = fmt.Sprintf("%d °C", out.Celsius)
		}
	}
	if known[q] == "" {
		return "", errors.New("the weather is not to be had")
	}
	return known[q], nil
}

func assistantAdapter() faultsim.Adapter {
	return faultsim.Adapter{
		Name:   "assistant",
		Policy: invariants.Policy{ID: "one try", MaxAttempts: 1, Attempt: time.Minute, Repeatable: true},
		Loop:   &invariants.Loop{Turns: 6, Model: invariants.Policy{ID: "one try", MaxAttempts: 1}},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			a := &assistant{
				model: s.Model("model", faultsim.Script{Steps: []faultsim.Step{
					faultsim.AskFor("weather", query{"Pune"}),
					faultsim.Say("It is 19 °C in Pune."),
				}}).Reply,
				weather: faultsim.Tool(s, "weather", func(context.Context, query) (celsius, error) { return celsius{19}, nil },
					faultsim.Errors{trace.Transient: errWeatherDown, trace.Invalid: errNoCity}),
			}
			return func(ctx context.Context) (any, error) { return a.run(ctx, "How warm is it in Pune?") }
		},
	}
}

func TestALoopIsPlayedTurnByTurn(t *testing.T) {
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  model 2 ok move=again\n  weather 1 transient\n")
	require.NoError(t, err)
	tr := faultsim.Run(t, assistantAdapter(), s)
	turns := tr.Turns(0)
	require.Len(t, turns, 3)
	require.Len(t, turns[0].Asks, 1)
	require.Len(t, turns[0].Asks[0].Attempts, 1)
	require.Equal(t, []trace.ToolResult{{ID: "call_1", Tool: "weather", Text: "the weather is not to be had", Failed: true}}, turns[0].Asks[0].Results)
	require.Equal(t, "call_2", turns[1].Asks[0].ID, "asked again, under another id")
	require.Empty(t, turns[1].Asks[0].Attempts, "which the loop does not do")
	require.Equal(t, "I could not do this.", turns[2].Reply.Text)
}

func TestALoopIsDrawn(t *testing.T) {
	a := assistantAdapter()
	a.Trials = 300
	faultsim.Check(t, a)
}
