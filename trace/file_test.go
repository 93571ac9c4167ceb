package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const goodFile = `{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z","policy":{"ID":"pay/1"}}
{"at":"0s","kind":"begin","action":"pay","deadline":"30s"}
{"at":"0s","kind":"call","action":"pay","tool":"bank","call":1,"key":"k1","args":{"amount":5}}
{"at":"1.5s","kind":"answer","action":"pay","tool":"bank","call":1,"class":"throttled","code":"429","hint":"2s","error":"slow down"}
{"at":"1.5s","kind":"end","action":"pay","reason":"exhausted","error":"slow down"}
`

func TestReadGivesWhatTheFileSays(t *testing.T) {
	tr, err := trace.Read(strings.NewReader(goodFile))
	require.NoError(t, err)
	require.Equal(t, trace.Schema, tr.Schema)
	require.JSONEq(t, `{"ID":"pay/1"}`, string(tr.Policy))
	require.Equal(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), tr.Start)
	require.Len(t, tr.Events, 4)
	require.Equal(t, trace.Outcome{Class: trace.Throttled, Code: "429", Hint: 2 * time.Second}, tr.Events[2].Outcome)
	var b bytes.Buffer
	n, err := tr.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(len(goodFile)), n)
	require.Equal(t, goodFile, b.String())
}

func TestReadRefusesWhatItCannotBelieve(t *testing.T) {
	const head = `{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}` + "\n"
	call := `{"at":"1s","kind":"call","tool":"bank","call":1}` + "\n"
	tests := map[string]struct {
		file  string
		line  int
		field string
		good  int
		says  string
	}{
		"empty file":               {"", 1, "", 0, "begins with the header"},
		"no header":                {call, 1, "at", 0, "known are rehearse"},
		"header without version":   {`{"rehearse":"trace"}` + "\n", 1, "schema", 0, "missing"},
		"another kind of file":     {`{"rehearse":"case"}` + "\n", 1, "rehearse", 0, `not "trace"`},
		"another version":          {`{"rehearse":"trace","schema":2}` + "\n", 1, "schema", 0, "use the version"},
		"start that is no instant": {`{"rehearse":"trace","schema":1,"start":"noon"}` + "\n", 1, "start", 0, "RFC 3339"},
		"unknown field":            {head + call + `{"at":"1s","kind":"wait","weight":"1s"}` + "\n", 3, "weight", 1, "known are at, kind"},
		"field in other case":      {head + `{"At":"1s","kind":"wait"}` + "\n", 2, "At", 0, "unknown"},
		"field twice":              {head + `{"at":"1s","at":"2s","kind":"wait"}` + "\n", 2, "at", 0, "twice"},
		"name twice in arguments":  {head + `{"at":"1s","kind":"call","call":1,"args":[{"a":{"b":1,"b":2}}]}` + "\n", 2, "args", 0, `"b"`},
		"number for a duration":    {head + `{"at":1,"kind":"wait"}` + "\n", 2, "at", 0, `"1.5s"`},
		"text for a number":        {head + `{"at":"1s","kind":"call","call":"1"}` + "\n", 2, "call", 0, "whole number"},
		"fraction for a number":    {head + `{"at":"1s","kind":"call","call":1.0}` + "\n", 2, "call", 0, "whole number"},
		"number for a text":        {head + `{"at":"1s","kind":"wait","tool":7}` + "\n", 2, "tool", 0, "in quotes"},
		"null for a text":          {head + `{"at":"1s","kind":"wait","tool":null}` + "\n", 2, "tool", 0, "in quotes"},
		"text for a bool":          {head + `{"at":"1s","kind":"wait","ambiguous":"yes"}` + "\n", 2, "ambiguous", 0, "true"},
		"unknown kind":             {head + `{"at":"1s","kind":"pause"}` + "\n", 2, "kind", 0, `"interrupt"`},
		"unknown class":            {head + call + `{"at":"1s","kind":"answer","call":1,"class":"odd"}` + "\n", 3, "class", 1, `"throttled"`},
		"empty class":              {head + call + `{"at":"1s","kind":"answer","call":1,"class":""}` + "\n", 3, "class", 1, `"throttled"`},
		"no kind":                  {head + `{"at":"1s"}` + "\n", 2, "kind", 0, "missing"},
		"no instant":               {head + `{"kind":"wait"}` + "\n", 2, "at", 0, "missing"},
		"time going backwards":     {head + call + `{"at":"999ms","kind":"wait"}` + "\n", 3, "at", 1, "order"},
		"time before the start":    {head + `{"at":"-1ns","kind":"wait"}` + "\n", 2, "at", 0, "order"},
		"answer without its call":  {head + call + `{"at":"1s","kind":"answer","call":2,"class":"ok"}` + "\n", 3, "call", 1, "no call 2"},
		"two answers":              {head + call + strings.Repeat(`{"at":"1s","kind":"answer","call":1,"class":"ok"}`+"\n", 2), 4, "call", 2, "already"},
		"effect without its call":  {head + `{"at":"1s","kind":"effect","call":3}` + "\n", 2, "call", 0, "no call 3"},
		"call without a number":    {head + `{"at":"1s","kind":"call"}` + "\n", 2, "call", 0, "from 1"},
		"call number twice":        {head + call + call, 3, "call", 1, "fresh"},
		"trailing garbage":         {head + call + "}\n", 3, "", 1, "no JSON object"},
		"garbage behind an object": {head + `{"at":"1s","kind":"wait"} x` + "\n", 2, "", 0, "more behind"},
		"empty line":               {head + "\n" + call, 2, "", 0, "empty lines"},
		"list for an object":       {head + "[]\n", 2, "", 0, "no JSON object"},
		"cut within a line":        {head + call + call[:20], 3, "", 1, "cut off"},
		"no final newline":         {strings.TrimSuffix(head+call, "\n"), 2, "", 0, "cut off"},
		"cut within the header":    {head[:10], 1, "", 0, "cut off"},
		"half an object":           {head + `{"at":"1s","kind"` + "\n", 2, "kind", 0, "no JSON"},
		"an object without an end": {head + `{"at":"1s"` + "\n", 2, "", 0, "no"},
		"not UTF-8":                {head + "{\"at\":\"1s\",\"kind\":\"wait\",\"tool\":\"\xff\"}\n", 2, "", 0, "UTF-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr, err := trace.Read(strings.NewReader(test.file))
			require.Nil(t, tr)
			fe, ok := errors.AsType[*trace.FileError](err)
			require.True(t, ok, "%T %v", err, err)
			require.Equal(t, test.line, fe.Line, err)
			require.Equal(t, test.field, fe.Field, err)
			require.Equal(t, test.good, fe.Good, err)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "\n")
			require.Error(t, errors.Unwrap(err))
		})
	}
}

func TestReadSaysWhenTheFileIsCutOff(t *testing.T) {
	for n := range len(goodFile) {
		_, err := trace.Read(strings.NewReader(goodFile[:n]))
		if n > 0 && goodFile[n-1] == '\n' {
			require.NoError(t, err, "whole lines are a whole file: recordings are written early")
			continue
		}
		require.ErrorIs(t, err, trace.ErrTruncated)
	}
}

func TestReadPassesOnTheReadersError(t *testing.T) {
	_, err := trace.Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(goodFile))))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestWriteToRefusesWhatReadWould(t *testing.T) {
	tests := map[string]struct {
		tr    *trace.Trace
		field string
	}{
		"another version":              {&trace.Trace{Schema: 7}, "schema"},
		"a start that has no spelling": {&trace.Trace{Start: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "start"},
		"no kind":                      {&trace.Trace{Events: []trace.Event{{}}}, "kind"},
		"a kind that is none":          {&trace.Trace{Events: []trace.Event{{Kind: 200}}}, "kind"},
		"an answer without its call":   {&trace.Trace{Events: []trace.Event{{Kind: trace.KindAnswer, Call: 1}}}, "call"},
		"a negative count":             {&trace.Trace{Events: []trace.Event{{Kind: trace.KindEnd, Count: -1}}}, "count"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			n, err := test.tr.WriteTo(&b)
			require.Zero(t, n)
			require.Zero(t, b.Len())
			fe, ok := errors.AsType[*trace.FileError](err)
			require.True(t, ok, "%T %v", err, err)
			require.Equal(t, test.field, fe.Field)
		})
	}
}

func TestWriteToPassesOnTheWritersError(t *testing.T) {
	tr, err := trace.Read(strings.NewReader(goodFile))
	require.NoError(t, err)
	n, err := tr.WriteTo(iotest.TruncateWriter(failing{}, 0))
	require.NoError(t, err)
	require.Equal(t, int64(len(goodFile)), n)
	n, err = tr.WriteTo(failing{})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Zero(t, n)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A textGen draws texts with everything that a file could stumble over.
func textGen() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "", "weather", "a\nb", `"quoted"`, "\u2028", "<&>", "\x00\x7f", "é", "\U0001F600", "{}"}),
		rapid.StringN(0, 8, -1),
	)
}

func jsonGen() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			return nil
		case 1:
			return trace.Canonical(trace.Marshal(textGen().Draw(t, "text")))
		case 2:
			return trace.Canonical(trace.Marshal(rapid.Float64Range(-1e30, 1e30).Draw(t, "number")))
		case 3:
			return json.RawMessage(rapid.SampledFrom([]string{"null", "true", "[]", "{}", "-1", "1e+400"}).Draw(t, "constant"))
		case 4:
			return trace.Canonical(trace.Marshal(rapid.MapOfN(textGen(), rapid.Int(), 0, 4).Draw(t, "object")))
		}
		return trace.Canonical(trace.Marshal(rapid.SliceOfN(textGen(), 0, 4).Draw(t, "list")))
	})
}

func durationGen() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, 1, -1, time.Second, 1_000_000_001, -1 << 63, 1<<63 - 1}),
		rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

func enumGen[E ~uint8](last E) *rapid.Generator[E] {
	return rapid.Map(rapid.IntRange(0, int(last)), func(n int) E { return E(n) })
}

func itemsGen() *rapid.Generator[trace.Items] {
	item := rapid.Custom(func(t *rapid.T) trace.Item {
		return trace.Item{ID: textGen().Draw(t, "id"), Class: enumGen(trace.Unknown).Draw(t, "class")}
	})
	return rapid.Map(rapid.SliceOfN(item, 0, 3), func(list []trace.Item) trace.Items { return trace.ItemsOf(list...) })
}

// eventGen draws an event with any fields; its kind and time fit the trace.
func eventGen(at time.Duration, open *[]int, calls *int) *rapid.Generator[trace.Event] {
	return rapid.Custom(func(t *rapid.T) trace.Event {
		e := trace.Event{
			At:   at,
			Kind: 1 + enumGen(trace.KindCalm-1).Draw(t, "kind"), Role: enumGen(trace.RoleConnect).Draw(t, "role"),
			Reason: enumGen(trace.ReasonEscalated).Draw(t, "reason"), Ambiguous: rapid.Bool().Draw(t, "ambiguous"),
			Action: textGen().Draw(t, "action"), Tool: textGen().Draw(t, "tool"),
			CallID: textGen().Draw(t, "call id"), Layer: textGen().Draw(t, "layer"), Key: textGen().Draw(t, "key"), Credential: textGen().Draw(t, "credential"),
			Definition: textGen().Draw(t, "definition"), Session: rapid.IntRange(0, 9).Draw(t, "session"),
			Args: jsonGen().Draw(t, "args"), Result: jsonGen().Draw(t, "result"), Want: jsonGen().Draw(t, "want"),
			Outcome: trace.Outcome{
				Class: enumGen(trace.Unknown).Draw(t, "class"), Effect: enumGen(trace.EffectUnknown).Draw(t, "effect"),
				Advice: enumGen(trace.AdviceStop).Draw(t, "advice"), Hint: durationGen().Draw(t, "hint"), Slack: durationGen().Draw(t, "slack"), Code: textGen().Draw(t, "code"),
				Items: itemsGen().Draw(t, "items"),
			},
			Deadline: durationGen().Draw(t, "deadline"), Wait: durationGen().Draw(t, "wait"),
			Error: textGen().Draw(t, "error"),
			Cause: rapid.IntRange(-1, 9).Draw(t, "cause"), Count: rapid.IntRange(0, 9).Draw(t, "count"),
		}
		pair(t, &e, open, calls)
		return e
	})
}

// pair numbers calls, and gives answers a call that is open.
func pair(t *rapid.T, e *trace.Event, open *[]int, calls *int) {
	switch e.Kind {
	case trace.KindAnswer, trace.KindInterrupt, trace.KindEffect:
		if len(*open) == 0 {
			e.Kind = trace.KindWait
			return
		}
		i := rapid.IntRange(0, len(*open)-1).Draw(t, "answered")
		e.Call = (*open)[i]
		if e.Kind == trace.KindAnswer {
			*open = append((*open)[:i], (*open)[i+1:]...)
		}
	case trace.KindCall:
		*calls++
		e.Call = *calls
		*open = append(*open, e.Call)
	}
}

func traceGen() *rapid.Generator[*trace.Trace] {
	return rapid.Custom(func(t *rapid.T) *trace.Trace {
		start := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "start")
		tr := &trace.Trace{
			Schema: trace.Schema, Policy: jsonGen().Draw(t, "policy"), Beside: jsonGen().Draw(t, "beside"),
			Start: time.Unix(start, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC(),
		}
		var open []int
		at, calls := time.Duration(0), 0
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			at += time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "later"))
			tr.Events = append(tr.Events, eventGen(at, &open, &calls).Draw(t, "event"))
		}
		return tr
	})
}

// writeRead returns what is read of what tr writes.
func writeRead(tr *trace.Trace) (*trace.Trace, string, error) {
	var b bytes.Buffer
	if _, err := tr.WriteTo(&b); err != nil {
		return nil, "", err
	}
	text := b.String()
	again, err := trace.Read(&b)
	return again, text, err
}

func sameTrace(a, b *trace.Trace) bool {
	return a.Schema == b.Schema && a.Start.Equal(b.Start) &&
		bytes.Equal(a.Policy, b.Policy) && reflect.DeepEqual(a.Events, b.Events)
}

func TestWhatIsWrittenReadsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := traceGen().Draw(t, "trace")
		again, text, err := writeRead(tr)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !sameTrace(tr, again) {
			t.Fatalf("not equal after reading\n%s", text)
		}
		if n := strings.Count(text, "\n"); n != len(tr.Events)+1 {
			t.Fatalf("%d lines for %d events", n, len(tr.Events))
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(goodFile))
	f.Fuzz(func(t *testing.T, file []byte) {
		tr, err := trace.Read(bytes.NewReader(file))
		if err != nil {
			if tr != nil {
				t.Fatal("half a trace was returned")
			}
			return
		}
		tr.Actions()
		tr.Timeline(0)
		_ = tr.Metrics().String()
		again, text, err := writeRead(tr)
		if err != nil || !sameTrace(tr, again) {
			t.Fatalf("error %v, or not equal after writing\n%s", err, text)
		}
	})
}
