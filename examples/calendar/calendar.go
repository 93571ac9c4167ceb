// Package calendar creates events through an HTTP API that may lose its reply
// after the event has been made. One idempotency key per event makes the
// repeat safe.
package calendar

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// An Event is what is asked for.
type Event struct {
	Title    string    `json:"title"`
	StartsAt time.Time `json:"startsAt"`
}

// A Client creates events.
type Client struct {
	HTTP *http.Client
	URL  string // of the events collection
}

const (
	attempts = 3
	base     = 200 * time.Millisecond
	timeout  = 10 * time.Second // of one attempt
	longest  = time.Minute      // a wait that the server may ask for
)

// Create makes the event and returns its id. It may be repeated by the client
// itself after a failure that can pass; the key keeps the event single.
func (c *Client) Create(ctx context.Context, e Event) (id string, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	key := rand.Text() // once for the event, not for the attempt
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		id, err := c.attempt(ctx, body, key)
		failure, ok := errors.AsType[*Failure](err)
		if err == nil || !ok || !failure.Retry || n == attempts || ctx.Err() != nil || failure.After > longest {
			return id, err
		}
		if sleep(ctx, max(wait, failure.After)) != nil {
			return "", err
		}
		wait *= 2
	}
}

// A Failure is an attempt that made no event, as far as can be told.
type Failure struct {
	Status int           // 0: no response
	Retry  bool          // another attempt may do
	After  time.Duration // the wait that the server asked for
	Err    error         // of the transport, or of reading the answer
}

func (f *Failure) Error() string {
	if f.Err != nil {
		return "calendar: " + f.Err.Error()
	}
	return fmt.Sprintf("calendar: the server answered %d", f.Status)
}

func (f *Failure) Unwrap() error { return f.Err }

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, body []byte, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", &Failure{Retry: true, Err: err}
	}
	defer resp.Body.Close()
	return read(resp)
}

// read turns a response into the event's id. An answer without an id is no
// success, whatever its status says.
func read(resp *http.Response) (string, error) {
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", &Failure{Status: resp.StatusCode, Retry: true, Err: err}
	}
	if resp.StatusCode/100 != 2 {
		f := &Failure{Status: resp.StatusCode, After: retryAfter(resp.Header)}
		f.Retry = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
		return "", f
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(content, &made); err != nil {
		return "", &Failure{Status: resp.StatusCode, Err: fmt.Errorf("unreadable answer: %w", err)}
	}
	if made.ID == "" {
		return "", &Failure{Status: resp.StatusCode, Err: errors.New("the answer holds no id")}
	}
	return made.ID, nil
}

// retryAfter reads the server's wait: seconds, or a date measured from the
// server's own Date, so that the two clocks need not agree.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
