package scripted_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var (
	errUnavailable = errors.New("503")
	pune           = Query{City: "Pune"}
)

// scripts are tests that go wrong. Each makes one report.
var scripts = map[string]func(t *memory){
	"extra call": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").
			Fail(trace.Transient, errUnavailable).Times(2).
			Return(Forecast{Celsius: 19})
		for range 5 {
			_, _ = weather.Call(context.Background(), pune)
		}
	},
	"extra call at an empty script": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather")
		_, _ = weather.Call(context.Background(), pune)
	},
	"extra call with long arguments": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather")
		_, _ = weather.Call(context.Background(), Query{City: strings.Repeat("é", 400)})
	},
	"extra call with a recorder that keeps secrets": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").Into(&trace.Recorder{})
		_, _ = weather.Call(context.Background(), pune)
	},
	"unused steps": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").
			Fail(trace.Transient, errUnavailable).Times(3).
			Return(Forecast{Celsius: 19})
		_, _ = weather.Call(context.Background(), pune)
	},
	"never called": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{})
	},
	"wrong type": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{}).AllowUnused()
		_, _ = weather.CallJSON(context.Background(), []byte(`{"town":"Pune"}`))
		_, _ = weather.CallJSON(context.Background(), []byte(`[1]`))
	},
	"modifier before a step": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").Times(2)
		_, _ = weather.Call(context.Background(), pune)
	},
	"no times": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").
			Return(Forecast{}).Times(0)
	},
	"negative latency": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").
			Return(Forecast{}).After(-time.Second)
	},
	"hang after a time": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Hang().After(time.Second)
	},
	"fail with ok": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Fail(trace.OK, errUnavailable)
	},
	"fail without class": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Fail(0, errUnavailable)
	},
	"fail without error": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Fail(trace.Transient, nil)
	},
	"lose what was not sent": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Lose(trace.NotConnected, errUnavailable)
	},
	"do nothing": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Do(nil)
	},
	"do what is done": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").
			Do(func(context.Context, Query) (Forecast, error) { return Forecast{}, nil }).Done()
	},
	"step after any": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").
			Return(Forecast{}).Any().
			Hang()
	},
	"hang that means": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Hang().Means(trace.Declined)
	},
	"error that means ok": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Fail(trace.Unknown, errUnavailable).Means(trace.OK)
	},
	"means no class": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{}).Means(200)
	},
	"hint of a success": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{}).Hint(time.Second)
	},
	"negative hint": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Fail(trace.Throttled, errUnavailable).Hint(-1)
	},
	"no recorder": func(t *memory) {
		scripted.NewTool[Query, Forecast](t, "weather").Into(nil)
	},
	"only the first bad line": func(t *memory) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").
			Return(Forecast{}).Times(-1).
			Fail(trace.OK, nil)
		_, _ = weather.Call(context.Background(), pune)
	},

	"server: no recorder": func(t *memory) {
		scripted.NewServer(t).Into(nil)
	},
	"server: no route": func(t *memory) {
		srv := scripted.NewServer(t)
		srv.Route("POST", "api.pay.test", "/v1/charges")
		srv.Route("GET", "*", "/v1/charges/*")
		_, _ = srv.Client().Get("https://api.pay.test/v1/refunds")
		_, _ = srv.Client().Get("https://api.pay.test/v1/charges")
	},
	"server: extra call": func(t *memory) {
		srv := scripted.NewServer(t)
		srv.Route("GET", "api.pay.test", "/v1/charges").Named("charges").
			Status(503)
		for range 3 {
			_, _ = srv.Client().Get("https://api.pay.test/v1/charges?page=2")
		}
	},
	"server: unused steps": func(t *memory) {
		srv := scripted.NewServer(t)
		srv.Route("GET", "api.pay.test", "/v1/charges").
			Status(503).Times(2).
			JSON(200, Forecast{})
		_, _ = srv.Client().Get("https://api.pay.test/v1/charges")
	},
	"server: wrong type": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").JSON(200, make(chan int))
	},
	"server: bad status": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Status(100)
	},
	"server: fail with ok": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Fail(trace.OK)
	},
	"server: lose what was not sent": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Lose(trace.NotConnected)
	},
	"server: done but not sent": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").NotConnected().Done()
	},
	"server: header of no response": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").
			Lose(trace.Reset, scripted.RetryAfter(time.Second))
	},
	"server: negative retry-after": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").
			Status(429, scripted.RetryAfter(-time.Second))
	},
	"server: header without name": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Status(429, scripted.Header("", "x"))
	},
	"server: empty option": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Status(429, scripted.Option{})
	},
	"server: cut nothing": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Status(200).CutShort(3)
	},
	"server: cut too late": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").JSON(200, 7).CutShort(1)
	},
	"server: means beside its class": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Fail(trace.Forbidden).Means(trace.QuotaExhausted)
	},
	"server: no handler": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Handle(nil)
	},
	"server: done handler": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/").Handle(http.NotFoundHandler()).Done()
	},
	"server: handler panics": func(t *memory) {
		srv := scripted.NewServer(t)
		srv.Route("GET", "api.pay.test", "/").
			Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })).Times(2)
		for range 2 {
			_, _ = srv.Client().Get("https://api.pay.test")
		}
	},
	"server: route without method": func(t *memory) { scripted.NewServer(t).Route("", "api.pay.test", "/") },
	"server: route with a url":     func(t *memory) { scripted.NewServer(t).Route("GET", "https://api.pay.test", "/") },
	"server: route without slash":  func(t *memory) { scripted.NewServer(t).Route("GET", "api.pay.test", "v1") },
	"server: route with a bad pattern": func(t *memory) {
		scripted.NewServer(t).Route("GET", "api.pay.test", "/[")
	},
	"server: route twice": func(t *memory) {
		srv := scripted.NewServer(t)
		srv.Route("GET", "api.pay.test", "/")
		srv.Route("get", "API.pay.test", "/")
	},
	"server: two replacements": func(t *memory) {
		scripted.NewServer(t).ReplaceDefaultTransport()
		scripted.NewServer(t).ReplaceDefaultTransport()
	},
	"model: extra call": func(t *memory) {
		model := scripted.NewModel(t).
			Ask("weather", inPune)
		for range 3 {
			_, _ = model.Reply(context.Background(), question)
		}
	},
	"model: extra call at an empty script": func(t *memory) {
		model := scripted.NewModel(t).Lenient()
		_, _ = model.Reply(context.Background(), trace.Prompt{})
	},
	"model: extra call behind a result": func(t *memory) {
		loop := agent{model: scripted.NewModel(t).Ask("weather", inPune).Reply, turns: 3}
		_, _ = loop.run(context.Background(), "How warm is it in Pune?")
	},
	"model: extra call with a recorder that keeps secrets": func(t *memory) {
		_, _ = scripted.NewModel(t).Into(&trace.Recorder{}).Reply(context.Background(), question)
	},
	"model: unused turns": func(t *memory) {
		model := scripted.NewModel(t).Named("planner").
			Ask("weather", inPune).Times(2).
			Say("19 °C")
		_, _ = model.Reply(context.Background(), question)
	},
	"model: conversation that a provider refuses": func(t *memory) {
		model := scripted.NewModel(t).
			Ask("weather", inPune).
			Say("19 °C")
		_, _ = model.Reply(context.Background(), question)
		_, _ = model.Reply(context.Background(), trace.Prompt{Messages: append(question.Messages,
			trace.Message{From: trace.FromModel, Calls: []trace.ToolCall{{ID: "call_1", Tool: "weather", Args: inPune}}},
			trace.Message{From: trace.FromUser, Text: "Well?"})})
	},
	"model: conversation full of mistakes": func(t *memory) {
		model := scripted.NewModel(t).Say("19 °C")
		late := trace.Message{From: trace.FromTool, Results: []trace.ToolResult{{ID: "call_1", Tool: "weather", Text: "19"}}}
		_, _ = model.Reply(context.Background(), trace.Prompt{Messages: []trace.Message{late, late, {From: "assistant"}, late}})
	},
	"model: no recorder":            func(t *memory) { scripted.NewModel(t).Into(nil) },
	"model: word before a turn":     func(t *memory) { scripted.NewModel(t).AndSay("19 °C") },
	"model: more of a failure":      func(t *memory) { scripted.NewModel(t).Fail(trace.Throttled, errUnavailable).AndAsk("weather", inPune) },
	"model: more of a function":     func(t *memory) { scripted.NewModel(t).Do(scripted.Obedient).AndSay("19 °C") },
	"model: fail without error":     func(t *memory) { scripted.NewModel(t).Fail(trace.Throttled, nil) },
	"model: fail with ok":           func(t *memory) { scripted.NewModel(t).Fail(trace.OK, errUnavailable) },
	"model: do nothing":             func(t *memory) { scripted.NewModel(t).Do(nil) },
	"model: id of a text":           func(t *memory) { scripted.NewModel(t).Ask("weather", inPune).AndSay("One moment.").ID("x") },
	"model: empty id":               func(t *memory) { scripted.NewModel(t).Ask("weather", inPune).ID("") },
	"model: stop that is none":      func(t *memory) { scripted.NewModel(t).Say("19").Stop("end_turn") },
	"model: fewer tokens than none": func(t *memory) { scripted.NewModel(t).Say("19").Tokens(-1) },
	"model: hint of a reply":        func(t *memory) { scripted.NewModel(t).Say("19").Hint(time.Second) },
	"model: negative pace":          func(t *memory) { scripted.NewModel(t).Say("19").Pace(-1) },
	"model: negative cut":           func(t *memory) { scripted.NewModel(t).Say("19").Cut(-1) },
	"model: cut of a hang":          func(t *memory) { scripted.NewModel(t).Hang().Cut(1) },
	"model: cut behind the end": func(t *memory) {
		model := scripted.NewModel(t).
			Say("It is warm").Cut(4)
		_, _ = model.Stream(context.Background(), question, func(trace.Piece) error { return nil })
	},
	"model: no provider": func(t *memory) {
		scripted.NewModel(t).Client("nonesuch")
	},
	"model: turn after any": func(t *memory) { scripted.NewModel(t).Say("19").Any().Say("20") },

	"approver: extra call": func(t *memory) {
		owner := scripted.NewApprover(t).Grant()
		for range 2 {
			_, _ = owner.Ask(context.Background(), pay)
		}
	},
	"approver: unused steps":             func(t *memory) { scripted.NewApprover(t).Named("owner").Grant().Deny("no") },
	"approver: no recorder":              func(t *memory) { scripted.NewApprover(t).Into(nil) },
	"approver: negative end":             func(t *memory) { scripted.NewApprover(t).Grant().Expires(-1) },
	"approver: end of what is not given": func(t *memory) { scripted.NewApprover(t).Deny("no").Expires(1) },
	"approver: id of a failure":          func(t *memory) { scripted.NewApprover(t).Fail(trace.Transient, errUnavailable).ID("x") },
	"approver: fail with ok":             func(t *memory) { scripted.NewApprover(t).Fail(trace.OK, errUnavailable) },
	"approver: do nothing":               func(t *memory) { scripted.NewApprover(t).Do(nil) },
	"approver: hint of leave":            func(t *memory) { scripted.NewApprover(t).Grant().Hint(1) },

	"server: replaced by somebody else": func(t *memory) {
		scripted.NewServer(t).ReplaceDefaultTransport()
		http.DefaultTransport = http.NewFileTransport(http.Dir("."))
	},
}

func TestEachMistakeIsReportedOnceAndClearly(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			before := http.DefaultTransport
			reports := watch(t, script)
			require.Same(t, before, http.DefaultTransport)
			require.Len(t, reports, 1)
			got := relative(reports[0], script)
			gold.Equal(t, filepath.Join("testdata", strings.NewReplacer(" ", "-", ":", "").Replace(name)+".golden"), got+"\n")
		})
	}
}

// relative counts the lines of a report from the line of its script, so that a
// golden file does not change with what stands above.
func relative(report string, script func(*memory)) string {
	at := runtime.FuncForPC(reflect.ValueOf(script).Pointer())
	_, first := at.FileLine(at.Entry())
	return regexp.MustCompile(`reports_test\.go:\d+`).ReplaceAllStringFunc(report, func(s string) string {
		file, line, _ := strings.Cut(s, ":")
		n, _ := strconv.Atoi(line)
		return file + ":+" + strconv.Itoa(n-first)
	})
}

func TestNothingIsSaidOnceTheTestIsOver(t *testing.T) {
	m := &memory{}
	weather, srv := scripted.NewTool[Query, Forecast](m, "weather"), scripted.NewServer(m)
	model, owner := scripted.NewModel(m), scripted.NewApprover(m)
	requireQuiet(t, m.end())
	requireSilent(t, weather, srv)
	requireSilentAbove(t, model, owner)

	t.Run("a real test", func(t *testing.T) {
		weather, srv = scripted.NewTool[Query, Forecast](t, "weather"), scripted.NewServer(t)
		model, owner = scripted.NewModel(t), scripted.NewApprover(t)
	})
	requireSilent(t, weather, srv)
	requireSilentAbove(t, model, owner)
}

// requireSilent makes every mistake. An Errorf now would panic, for memory as
// for package testing.
func requireSilent(t *testing.T, weather *scripted.Tool[Query, Forecast], srv *scripted.Server) {
	t.Helper()
	_, err := weather.Call(t.Context(), pune)
	require.ErrorIs(t, err, scripted.ErrExtraCall)
	_, err = srv.Client().Get("https://api.pay.test/")
	require.ErrorIs(t, err, scripted.ErrUnmatched)
	_, err = weather.CallJSON(t.Context(), []byte(`7`))
	require.ErrorIs(t, err, scripted.ErrArguments)
	weather.Times(0)
}

// requireSilentAbove does the same with what stands above the tools.
func requireSilentAbove(t *testing.T, model *scripted.Model, owner *scripted.Approver) {
	t.Helper()
	_, err := model.Reply(t.Context(), question)
	require.ErrorIs(t, err, scripted.ErrExtraCall)
	_, err = model.Reply(t.Context(), trace.Prompt{})
	require.ErrorIs(t, err, scripted.ErrConversation)
	_, err = owner.Ask(t.Context(), pay)
	require.ErrorIs(t, err, scripted.ErrExtraCall)
	model.Times(0)
	owner.Times(0)
}
