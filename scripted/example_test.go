package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

// printing stands in for the t of a test, which an example has not: it prints
// its reports.
type printing struct{ cleanups []func() }

func (*printing) Helper()                           {}
func (*printing) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (p *printing) Cleanup(f func())                { p.cleanups = append(p.cleanups, f) }

func (p *printing) end() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

// forecast is the code under test: three attempts, with doubling pauses.
func forecast(ctx context.Context, weather trace.Func[Query, Forecast], sleep trace.SleepFunc, city string) (Forecast, error) {
	pause := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		got, err := weather(ctx, Query{City: city})
		if err == nil || attempt == 3 {
			return got, err
		}
		if err := sleep(ctx, pause); err != nil {
			return Forecast{}, err
		}
		pause *= 2
	}
}

func ExampleNewTool() {
	t := new(printing)
	defer t.end()

	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Fail(trace.Transient, errors.New("503 Service Unavailable")).Times(2).
		Return(Forecast{Celsius: 19})
	var sleeper scripted.Sleeper

	got, err := forecast(context.Background(), weather.Call, sleeper.Sleep, "Pune")
	fmt.Println(got.Celsius, err)
	fmt.Println(weather.Args())
	for _, a := range weather.Trace().Actions()[0].Attempts {
		fmt.Println(a.N, a.Outcome.Class)
	}
	// Output:
	// 19 <nil>
	// [{Pune} {Pune} {Pune}]
	// 1 transient
	// 2 transient
	// 3 ok
}

func ExampleNewServer() {
	t := new(printing)
	defer t.end()

	srv := scripted.NewServer(t)
	srv.Route("POST", "api.pay.test", "/v1/charges").Named("pay").
		Status(429, scripted.RetryAfter(2*time.Second)).
		JSON(201, map[string]string{"id": "ch-1"})

	client := srv.Client()
	for range 2 {
		resp, err := client.Post("https://api.pay.test/v1/charges", "application/json", strings.NewReader(`{"amount":7}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"), string(body))
	}
	for _, r := range srv.Requests() {
		fmt.Println(r.Route, string(r.Body))
	}
	// Output:
	// 429 2 {"error":{"code":"rate_limit_exceeded","message":"rate limit exceeded"}}
	// 201  {"id":"ch-1"}
	// pay {"amount":7}
	// pay {"amount":7}
}

// The reply to a payment is lost. Whether a second attempt pays twice depends
// on the key that it carries.
func ExampleLedger() {
	t := new(printing)
	defer t.end()

	type Payment struct {
		Key    string `json:"idempotency_key"`
		Amount int    `json:"amount"`
	}
	for _, keys := range [][]string{{"k1", "k1"}, {"k1", "k2"}} {
		books := &scripted.Ledger{Dedupe: true}
		pay := scripted.NewTool[Payment, string](t, "pay").
			Ledger(books).Key("idempotency_key").
			Lose(trace.Reset, errors.New("connection reset")).
			Return("receipt 1")

		for _, key := range keys {
			_, _ = pay.Call(context.Background(), Payment{Key: key, Amount: 7})
		}
		fmt.Println(keys, "paid", books.Count(), "by key", books.ByKey())
	}
	// Output:
	// [k1 k1] paid 1 by key map[k1:1]
	// [k1 k2] paid 2 by key map[k1:1 k2:1]
}

// Three attempts have two delays between them.
func ExampleSleeper() {
	t := new(printing)
	defer t.end()

	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Fail(trace.Timeout, errors.New("timeout")).Times(3)
	var sleeper scripted.Sleeper

	_, err := forecast(context.Background(), weather.Call, sleeper.Sleep, "Pune")
	fmt.Println(err, weather.Calls(), sleeper.Waits())
	// Output:
	// timeout 3 [100ms 200ms]
}

func ExampleServer_ReplaceDefaultTransport() {
	t := new(printing)
	defer t.end()

	srv := scripted.NewServer(t)
	srv.ReplaceDefaultTransport()
	srv.Route("GET", "api.weather.test", "/v1/forecast").JSON(200, Forecast{Celsius: 19})

	resp, err := http.Get("https://api.weather.test/v1/forecast?city=Pune")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output:
	// {"celsius":19}
}
