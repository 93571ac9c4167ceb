package zoo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects that read an answer which comes line by line, over time.
func streams() []Specimen {
	return []Specimen{
		{"http-scanner-error-unread", "The scanner stops where the connection breaks, nobody asks it why, and half of the hours are the forecast.",
			toolErrors, "honest-ending", hourly(func() func(io.Reader, *forecast) error { return new(hours).unasked })},
		{"http-one-read", "One Read is taken for the whole body, as it is when the body is small and comes at once.",
			handling, "honest-ending", hourly(func() func(io.Reader, *forecast) error { return oneRead })},
		{"http-streams-joined", "The hours of a broken stream stay in the sum, and those of the next attempt are added.",
			"F078", "honest-ending", hourly(func() func(io.Reader, *forecast) error { return new(hours).read })},
		{"http-body-behind-the-loop", "The loop ends with the status, and what happens to the body behind it is tried once only.",
			handling, "conforms", hourlyBy(func(a *webAgent) hourlyForecast { return a.statusFirst })},
	}
}

// readsHourly is the right one: each attempt has a sum of its own.
func readsHourly() faultsim.Adapter {
	return hourly(func() func(io.Reader, *forecast) error {
		return func(r io.Reader, f *forecast) error { return new(hours).read(r, f) }
	})
}

// hourlyForecast is one action of these subjects.
type hourlyForecast = func(context.Context) (forecast, error)

// hourly plugs in an agent that averages the hours of a day, with a decoder
// for each action.
func hourly(decoder func() func(io.Reader, *forecast) error) faultsim.Adapter {
	return hourlyBy(func(a *webAgent) hourlyForecast {
		return func(ctx context.Context) (forecast, error) {
			own := *a
			own.decode = decoder()
			return own.forecast(ctx)
		}
	})
}

func hourlyBy(of func(*webAgent) hourlyForecast) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: webPolicy(), Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			r := route(http.MethodGet)
			r.Streams, r.Answer = true, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "{\"Celsius\":15}\n{\"Celsius\":23}\n")
			})
			a := of(&webAgent{client: s.Client(r), hint: readHint, retry: retryStatus})
			return func(ctx context.Context) (any, error) { return a(ctx) }
		},
	}
}

// hours sums what comes line by line.
type hours struct{ sum, n int }

func (h *hours) read(r io.Reader, f *forecast) error {
	lines := bufio.NewScanner(r)
	bad := h.add(lines)
	if err := lines.Err(); err != nil {
		return err // the line was cut off, and is not a bad one
	}
	if bad != nil {
		return bad
	}
	return h.mean(f)
}

// unasked reads as read does, and does not ask why the lines have ended.
func (h *hours) unasked(r io.Reader, f *forecast) error {
	if err := h.add(bufio.NewScanner(r)); err != nil {
		return err
	}
	return h.mean(f)
}

// oneRead reads what is there.
func oneRead(r io.Reader, f *forecast) error {
	buf := make([]byte, 4096)
	n, err := r.Read(buf)
	if err != nil && err != io.EOF {
		return err
	}
	return new(hours).read(bytes.NewReader(buf[:n]), f)
}

func (h *hours) add(lines *bufio.Scanner) error {
	for lines.Scan() {
		var hour forecast
		if err := json.Unmarshal(lines.Bytes(), &hour); err != nil {
			return &decodeError{err}
		}
		h.sum, h.n = h.sum+hour.Celsius, h.n+1
	}
	return nil
}

func (h *hours) mean(f *forecast) error {
	if h.n == 0 {
		return &decodeError{io.ErrUnexpectedEOF}
	}
	f.Celsius = h.sum / h.n
	return nil
}

// statusFirst asks until a status is good, and reads the body then.
func (a *webAgent) statusFirst(ctx context.Context) (f forecast, err error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		resp, cancel, err := a.open(ctx)
		if err == nil {
			defer cancel()
			defer resp.Body.Close()
			return f, new(hours).read(resp.Body, &f)
		}
		if n == attempts || ctx.Err() != nil || !again(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, a.wait(wait, err)); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// open is one attempt up to its status. cancel ends the time of its body.
func (a *webAgent) open(ctx context.Context) (resp *http.Response, cancel context.CancelFunc, err error) {
	ctx, cancel = context.WithTimeout(ctx, limit)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place+"?city=Pune", nil)
	if err != nil {
		return nil, cancel, err
	}
	if resp, err = a.client.Do(req); err != nil {
		return nil, cancel, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, cancel, a.failure(resp)
	}
	return resp, cancel, nil
}
