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
	weather := scripted.NewTool[Query, Forecast](m, "weather")
	srv := scripted.NewServer(m)
	requireQuiet(t, m.end())
	requireSilent(t, weather, srv)

	t.Run("a real test", func(t *testing.T) {
		weather = scripted.NewTool[Query, Forecast](t, "weather")
		srv = scripted.NewServer(t)
	})
	requireSilent(t, weather, srv)
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
