package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func format(t testing.TB, p Provider) Format {
	t.Helper()
	f, err := p.Format()
	require.NoError(t, err)
	return f
}

// each runs a test for every provider.
func each(t *testing.T, test func(*testing.T, Provider, Format)) {
	for _, p := range Providers() {
		t.Run(string(p), func(t *testing.T) { test(t, p, format(t, p)) })
	}
}

// weatherTalk is a prompt that an answer tells the length of.
func weatherTalk() *Ask {
	return &Ask{Model: "the-model", Usage: true, Number: 3, At: noon, Prompt: trace.Prompt{Messages: []trace.Message{
		{From: trace.FromUser, Text: "How warm is it in Pune and in Oslo?"},
	}}}
}

// replies are what a model says, by the name of the golden file.
var replies = []struct {
	name string
	said trace.Reply
}{
	{"text", trace.Reply{Text: "It is 19 °C in Pune.", Tokens: 9}},
	{"silent", trace.Reply{}},
	{"calls", trace.Reply{Text: "Let me look.", Calls: []trace.ToolCall{
		{ID: "call_1", Tool: "weather", Args: `{"city":"Pune"}`}, {ID: "call_2", Tool: "weather", Args: `{"city":"Oslo"}`},
	}}},
	{"twins", trace.Reply{Calls: []trace.ToolCall{{ID: "call_1", Tool: "now", Args: `{}`}, {ID: "call_1", Tool: "now", Args: `{}`}}}},
	{"anonymous", trace.Reply{Calls: []trace.ToolCall{{Tool: "now", Args: `{"zone":"<UTC>"}`}}}},
	{"garbled", trace.Reply{Text: "Look:", Calls: []trace.ToolCall{{ID: "call_1", Tool: "weather", Args: `{"city":"Pu`}}}},
	{"length", trace.Reply{Text: "It is", Stop: trace.StopLength}},
	{"cut", trace.Reply{Calls: []trace.ToolCall{{ID: "call_1", Tool: "weather", Args: `{"city":"Pu`}}, Stop: trace.StopLength}},
	{"filter", trace.Reply{Stop: trace.StopFilter}},
}

// What is written of each reply, whole and as a stream.
func TestTheShapesOfReplies(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		for _, r := range replies {
			for _, stream := range []bool{false, true} {
				a := weatherTalk()
				a.Stream = stream
				out, err := Reply(f, a, r.said)
				text := string(out.Body)
				if err != nil {
					text = err.Error()
				}
				kind := "whole"
				if stream {
					kind = "stream"
				}
				gold.Equal(t, fmt.Sprintf("testdata/%s/%s_%s.txt", p, r.name, kind), text+"\n")
			}
		}
	})
}

// What is written of each failure: of a class, of a request, and in a stream.
func TestTheShapesOfFailures(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		var b strings.Builder
		for _, c := range trace.Classes() {
			if own, ok := f.Failure(c, "", 1500*time.Millisecond); ok {
				fmt.Fprintf(&b, "%v: %d %v\n%s\n", c, own.Status, own.Header, own.Body)
			}
			if event, ok := f.Broken(c, ""); ok {
				fmt.Fprintf(&b, "%v within a stream:\n%s", c, event)
			}
		}
		own, _ := f.Failure(trace.Throttled, "slow down", 0)
		fmt.Fprintf(&b, "with words: %d %v\n%s\n", own.Status, own.Header, own.Body)
		own = f.Reject(reject("messages[1].content", "It is not right."))
		fmt.Fprintf(&b, "rejected: %d %v\n%s\n", own.Status, own.Header, own.Body)
		gold.Equal(t, fmt.Sprintf("testdata/%s/failures.txt", p), b.String())
	})
}

// A class for which a provider has no shape of its own is answered as any service
// would, and one of a connection has no answer.
func TestClassesWithoutAShapeOfTheProvider(t *testing.T) {
	each(t, func(t *testing.T, _ Provider, f Format) {
		for _, c := range []trace.Class{trace.Timeout, trace.Reset, trace.NotConnected} {
			require.False(t, Fails(f, c, "", 0).Connects(), "%v", c)
		}
		require.Equal(t, 520, Fails(f, trace.Unknown, "odd", 0).StatusCode())
		require.Contains(t, string(Fails(f, trace.Unknown, "odd", 0).Content()), "odd")
	})
}

// saying draws what a model could say to this provider.
func saying(p Provider) *rapid.Generator[trace.Reply] {
	return rapid.Custom(func(t *rapid.T) trace.Reply {
		said := trace.Reply{
			Text: rapid.StringN(0, 60, 400).Draw(t, "text"),
			Stop: rapid.SampledFrom([]trace.Stop{trace.StopEnd, trace.StopEnd, trace.StopLength, trace.StopFilter}).Draw(t, "stop"),
		}
		args := rapid.OneOf(
			rapid.SampledFrom([]string{`{}`, `{"city":"Pune"}`, `{"a":[1,2,{"b":"<&>\u2028é"}],"c":null}`}),
			rapid.Custom(func(t *rapid.T) string { return string(marshal(object{{"s", rapid.String().Draw(t, "s")}})) }),
		)
		if p == OpenAIChat || p == OpenAIResponses || p == Anthropic {
			args = rapid.OneOf(args, rapid.StringN(0, 80, 400))
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			said.Calls = append(said.Calls, trace.ToolCall{
				ID:   rapid.SampledFrom([]string{"", "call_1", "call_1", "x-2"}).Draw(t, "id"),
				Tool: rapid.SampledFrom([]string{"weather", "pay", "no such tool"}).Draw(t, "tool"),
				Args: args.Draw(t, "args"),
			})
		}
		return said
	})
}

// A reply that is written as a stream is read as it was, also where its lines end
// in the other way; and so is a whole one that the API can carry.
func TestARepliesComesBackAsItWas(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		rapid.Check(t, func(t *rapid.T) {
			said := saying(p).Draw(t, "said")
			a := weatherTalk()
			stream := bytes.Join(f.Stream(a, said), nil)
			require.Equal(t, said, f.Read(stream))
			require.Equal(t, said, f.Read(bytes.ReplaceAll(stream, []byte("\n"), []byte("\r\n"))))
			whole, err := f.Whole(a, said)
			if err != nil {
				require.Equal(t, Anthropic, p)
				return
			}
			got := f.Read(whole)
			if p == Anthropic {
				for i := range said.Calls { // an object, however the model wrote it
					c := &said.Calls[i]
					if c.Args = orEmpty(c.Args); !isObject(c.Args) {
						c.Args = "{}"
					}
					c.Args = compact([]byte(c.Args))
				}
			}
			require.Equal(t, said, got)
		})
	})
}

// What has come of a stream is never more than the reply, and grows.
func TestWhatHasComeOfAStreamGrows(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		rapid.Check(t, func(t *rapid.T) {
			said := saying(p).Draw(t, "said")
			body := bytes.Join(f.Stream(weatherTalk(), said), nil)
			n := rapid.IntRange(0, len(body)).Draw(t, "n")
			got := f.Read(body[:n])
			require.True(t, strings.HasPrefix(said.Text, got.Text))
			require.LessOrEqual(t, len(got.Calls), len(said.Calls))
			for i, c := range got.Calls {
				require.Equal(t, said.Calls[i].Tool, c.Tool)
				require.True(t, strings.HasPrefix(said.Calls[i].Args, c.Args), "%q of %q", c.Args, said.Calls[i].Args)
			}
		})
	})
}

// A stream that breaks off half-way does so within the last call, where its
// arguments come in fragments, else in front of it, else within the text.
func TestAStreamBreaksWithinTheCall(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		list := f.Stream(weatherTalk(), replies[2].said)
		got := f.Read(bytes.Join(list[:Cut(f, list)], nil))
		if p == Gemini {
			require.Len(t, got.Calls, 1)
		} else {
			require.Len(t, got.Calls, 2)
			require.NotEmpty(t, got.Calls[1].Args)
			require.Less(t, len(got.Calls[1].Args), len(`{"city":"Oslo"}`))
		}
		list = f.Stream(weatherTalk(), replies[0].said)
		got = f.Read(bytes.Join(list[:Cut(f, list)], nil))
		require.NotEmpty(t, got.Text)
		require.Less(t, len(got.Text), len(replies[0].said.Text))
		for _, r := range replies {
			if r.said.Text == "" && len(r.said.Calls) == 0 {
				continue
			}
			list := f.Stream(weatherTalk(), r.said)
			require.LessOrEqual(t, Cut(f, list), Begun(f, list), r.name)
		}
	})
}

// Only what posts to the endpoint of a format is a request of it.
func TestRequestsAreKnownByTheirPath(t *testing.T) {
	paths := map[Provider]string{
		OpenAIChat: "/v1/chat/completions", OpenAIResponses: "/v1/responses", Anthropic: "/v1/messages",
		Gemini: "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
	}
	for _, p := range Providers() {
		for at, path := range paths {
			require.Equal(t, p == at, format(t, p).Match(httptest.NewRequest(http.MethodPost, "https://api.test"+path, nil)), "%s %s", p, path)
			require.False(t, format(t, p).Match(httptest.NewRequest(http.MethodGet, "https://api.test"+path, nil)))
		}
	}
	_, err := Provider("openai").Format()
	require.EqualError(t, err, `there is no provider "openai": say OpenAIChat, OpenAIResponses, Anthropic or Gemini`)
}
