package double_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

var order = []byte(`{"amount":7,"city":"Pune"}`)

func BenchmarkCapture(b *testing.B) {
	reader := bytes.NewReader(order)
	req, err := http.NewRequestWithContext(b.Context(), "POST", "https://api.pay.test/v1/charges", reader)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(order)
		if _, err := double.Capture(req, double.Fields{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRespond(b *testing.B) {
	req, err := http.NewRequestWithContext(b.Context(), "GET", "https://api.pay.test/v1/charges", nil)
	if err != nil {
		b.Fatal(err)
	}
	now, reply := time.Now(), double.Reply{Class: trace.Transient}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := reply.Respond(req, now)
		if err != nil {
			b.Fatal(err)
		}
		double.Deliver(req.Context(), resp, func(trace.Class) {})
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func BenchmarkPlayAtOnce(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		double.Timing{}.Play(ctx, nil, trace.Pending{})
	}
}

func BenchmarkCloneOfAStruct(b *testing.B) {
	in := struct {
		City string
		Tags []string
	}{"Pune", []string{"a", "b"}}
	b.ReportAllocs()
	for b.Loop() {
		double.Clone(in)
	}
}

func BenchmarkCloneOfAPlainStruct(b *testing.B) {
	in := struct{ City string }{"Pune"}
	b.ReportAllocs()
	for b.Loop() {
		double.Clone(in)
	}
}
