package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
)

var errUnavailable = errors.New("upstream unavailable")

// A jumper is a clock that a wait moves at once, so that an example shows the
// same times every time. Tests use testing/synctest for that.
type jumper struct{ *clock.Mock }

func newJumper() jumper {
	c := jumper{clock.NewMock()}
	c.Set(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	return c
}

func (c jumper) sleep(_ context.Context, d time.Duration) error {
	c.Set(c.Now().Add(d))
	return nil
}

// flaky is a tool that fails the first n times.
func flaky(n int) trace.Func[string, int] {
	return func(ctx context.Context, city string) (int, error) {
		if n--; n >= 0 {
			return 0, errUnavailable
		}
		return 19, nil
	}
}

// retry is the code under test: three attempts, one and two seconds apart.
func retry(ctx context.Context, tool trace.Func[string, int], sleep trace.SleepFunc) (celsius int, err error) {
	for n := range 3 {
		if n > 0 {
			if err := sleep(ctx, time.Duration(n)*time.Second); err != nil {
				return 0, err
			}
		}
		if celsius, err = tool(ctx, "Pune"); err == nil {
			return celsius, nil
		}
	}
	return 0, fmt.Errorf("gave up: %w", err)
}

// Record wraps a function that is a tool.
func ExampleRecord() {
	r := &trace.Recorder{Clear: true}
	weather := trace.Record(r, "weather", flaky(1))
	_, err := weather(context.Background(), "Pune")
	fmt.Println(err)
	celsius, _ := weather(context.Background(), "Pune")
	fmt.Println(celsius)
	for at := range r.Trace().Attempts() {
		fmt.Printf("attempt %d of %s(%s): %v\n", at.N, at.Tool, at.Args, at.Outcome.Class)
	}
	// Output:
	// upstream unavailable
	// 19
	// attempt 1 of weather("Pune"): unknown
	// attempt 2 of weather("Pune"): ok
}

// Do runs one action: what a person counts once.
func ExampleDo() {
	r := &trace.Recorder{Clear: true}
	weather := trace.Record(r, "weather", flaky(2))
	celsius, err := trace.Do(context.Background(), r, "forecast", func(ctx context.Context) (int, error) {
		return retry(ctx, weather, newJumper().sleep)
	})
	fmt.Println(celsius, err)
	a := r.Trace().Actions()[0]
	fmt.Printf("%s: %d attempts, %v, returned %s\n", a.Name, len(a.Attempts), a.Reason, a.Result)
	// Output:
	// 19 <nil>
	// forecast: 3 attempts, success, returned 19
}

// Sleeper shows the waits that a program plans beside the gaps that came of them.
func ExampleRecorder_Sleeper() {
	c := newJumper()
	r := &trace.Recorder{Clear: true, Clock: c}
	_, _ = retry(context.Background(), trace.Record(r, "weather", flaky(2)), r.Sleeper(c.sleep))
	for at := range r.Trace().Attempts() {
		fmt.Println("attempt", at.N, "planned", at.Planned, "came after", at.Gap)
	}
	// Output:
	// attempt 1 planned 0s came after 0s
	// attempt 2 planned 1s came after 1s
	// attempt 3 planned 2s came after 2s
}

// server stands for a network: it answers 503 with a hint, and then 200.
func server() http.RoundTripper {
	n := 0
	return roundTrip(func(*http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"celsius": 19}`))}
		if n++; n == 1 {
			resp.StatusCode, resp.Body = 503, io.NopCloser(strings.NewReader("busy"))
			resp.Header.Set("Retry-After", "2")
		}
		return resp, nil
	})
}

// Transport records the round trips of an *http.Client.
func ExampleRecorder_Transport() {
	c := newJumper()
	r := &trace.Recorder{Clear: true, Clock: c}
	client := &http.Client{Transport: r.Transport("weather", server())}
	for range 2 {
		resp, err := client.Get("https://api.example/forecast?city=Pune")
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		_ = c.sleep(context.Background(), time.Second)
	}
	fmt.Print(r.Trace().Timeline())
	// Output:
	// trace: 2 attempts, 1s, from 2026-01-31 12:00:00 UTC
	//
	//   0s  weather 1  call       {"host":"api.example","method":"GET","path":"/forecast","query":{"city":"Pune"}}
	//   0s  weather 1  transient  503 · asks for 2s · "busy"
	//   1s  weather 2  call       same arguments · 1s later
	//   1s  weather 2  ok         200 · {"celsius":19}
}

// A trace goes into a file and comes back equal.
func ExampleRead() {
	c := newJumper()
	r := &trace.Recorder{Clock: c, Keep: func(field string) bool { return field == "" }}
	_, _ = retry(context.Background(), trace.Record(r, "weather", flaky(0)), c.sleep)
	var file bytes.Buffer
	if _, err := r.Trace().WriteTo(io.MultiWriter(&file, os.Stdout)); err != nil {
		fmt.Println(err)
	}
	tr, err := trace.Read(&file)
	fmt.Println(len(tr.Events), "events,", err)

	_, err = trace.Read(strings.NewReader(`{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}
{"at":"0s","kind":"call","tool":"weather","call":1}
{"at":"2s","kind":"answer","call":1,"class":"ok","hint":5}
`))
	fmt.Println(err)
	// Output:
	// {"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}
	// {"at":"0s","kind":"call","tool":"weather","call":1,"args":"Pune"}
	// {"at":"0s","kind":"answer","tool":"weather","call":1,"class":"ok","result":19}
	// 2 events, <nil>
	// trace: line 3, field "hint": 5 is no duration; write it as Go does, such as "1.5s" (1 good event before it)
}

// Timeline is what a person reads. The marked event is the guilty one.
func ExampleTrace_Timeline() {
	c := newJumper()
	r := &trace.Recorder{Clear: true, Clock: c}
	weather, sleep := trace.Record(r, "weather", flaky(3)), r.Sleeper(c.sleep)
	_, _ = trace.Do(context.Background(), r, "forecast", func(ctx context.Context) (int, error) {
		return retry(ctx, weather, sleep)
	})
	fmt.Print(r.Trace().Timeline(7))
	// Output:
	// trace of forecast: 3 attempts, 3s, from 2026-01-31 12:00:00 UTC
	//
	//   0s             begin    no deadline
	//   0s  weather 1  call     "Pune"
	//   0s  weather 1  unknown  "upstream unavailable"
	//   0s             wait     1s
	//   1s  weather 2  call     same arguments · 1s later, as planned
	//   1s  weather 2  unknown  "upstream unavailable"
	//   1s             wait     2s
	// > 3s  weather 3  call     same arguments · 2s later, as planned
	//   3s  weather 3  unknown  "upstream unavailable"
	//   3s             end      returns an error · "gave up: upstream unavailable" · keeps the error of weather 3
}

// Metrics are the numbers of a trace.
func ExampleTrace_Metrics() {
	c := newJumper()
	r := &trace.Recorder{Clear: true, Clock: c, Classify: func(err error) trace.Outcome {
		if errors.Is(err, errUnavailable) {
			return trace.Outcome{Class: trace.Transient}
		}
		return trace.Classify(err)
	}}
	weather, sleep := trace.Record(r, "weather", flaky(4)), r.Sleeper(c.sleep)
	for range 2 {
		_, _ = trace.Do(context.Background(), r, "forecast", func(ctx context.Context) (int, error) {
			return retry(ctx, weather, sleep)
		})
	}
	fmt.Print(r.Trace().Metrics())
	// Output:
	// 2 actions, 5 attempts, 1 exhausted, 4s of delay (4s planned)
	// 0 repeated effects prevented, 0 not
	//
	// action      attempts  delay  planned  exhausted
	// forecast    3         3s     3s       yes
	// forecast#2  2         1s     1s       no
	//
	// tool     after      retries  succeeded
	// weather  transient  3        1
}
