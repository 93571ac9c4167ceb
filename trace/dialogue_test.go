package trace_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A booking is a run that is recorded: the model asks for a search twice, once by a
// code that tries twice over a client that sends twice, and books.
func booking(t *testing.T, r *trace.Recorder) *trace.Trace {
	t.Helper()
	replies := []trace.Reply{
		{Text: "Let me look.", Calls: []trace.ToolCall{{ID: "c1", Tool: "search", Args: `{"city":"Pune"}`}}},
		{Calls: []trace.ToolCall{{ID: "c2", Tool: "search", Args: `{ "city": "Pune" }`}, {ID: "c3", Tool: "book", Args: `{"table":7,`}}},
		{Text: "Your table is booked."},
	}
	overloaded := errors.New("overloaded")
	turn, failed := 0, false
	model := trace.RecordModel(r, "model", func(context.Context, trace.Prompt) (trace.Reply, error) {
		if turn == 1 && !failed {
			failed = true
			return trace.Reply{}, overloaded
		}
		turn++
		return replies[turn-1], nil
	})
	down := errors.New("service unavailable")
	search := trace.Record(r, "search", func(context.Context, map[string]string) (string, error) { return "", down })
	_, err := trace.Do(t.Context(), r, "book a table", func(ctx context.Context) (string, error) {
		talk := trace.Prompt{Tools: []string{"search", "book"}, Messages: []trace.Message{{From: trace.FromUser, Text: "A table, please."}}}
		say := func(said trace.Reply, results ...trace.ToolResult) {
			talk.Messages = append(talk.Messages, trace.Message{From: trace.FromModel, Text: said.Text, Calls: said.Calls}, trace.Message{From: trace.FromTool, Results: results})
		}
		for range 2 {
			if said, err := model(ctx, talk); err == nil {
				for range 2 {
					try := trace.Layer(ctx, "try")
					for range 2 {
						_, _ = search(try, map[string]string{"city": "Pune"})
					}
				}
				say(said, trace.ToolResult{ID: "c1", Text: "down", Failed: true})
			}
		}
		said, _ := model(ctx, talk)
		_, _ = search(trace.Layer(ctx, "try"), map[string]string{"city": "Pune"})
		say(said, trace.ToolResult{ID: "c2", Text: "down", Failed: true})
		said, err := model(ctx, talk)
		r.Say(ctx, said.Text)
		return said.Text, err
	})
	require.NoError(t, err)
	return r.Trace()
}

func TestTurnsTellWhatCameOfEachCall(t *testing.T) {
	tr := booking(t, &trace.Recorder{Clear: true})
	turns := tr.Turns(0)
	require.Len(t, turns, 3)
	require.Len(t, turns[1].Calls, 2, "the model failed once before its second reply")
	c1, c2, c3 := turns[0].Asks[0], turns[1].Asks[0], turns[1].Asks[1]
	require.Len(t, c1.Attempts, 4)
	require.Equal(t, []trace.ToolResult{{ID: "c1", Text: "down", Failed: true}}, c1.Results)
	require.Len(t, c2.Attempts, 1, "equal arguments, written otherwise")
	require.Len(t, c2.Results, 1)
	require.Empty(t, c3.Attempts)
	require.Empty(t, c3.Results)
	require.False(t, turns[0].Skipped)
	require.Nil(t, tr.Turns(1))
}

func TestIntentionsTellHowRetriesMultiply(t *testing.T) {
	tr := booking(t, &trace.Recorder{Clear: true})
	require.Equal(t, []trace.Intention{
		{Tool: "search", Args: `{"city":"Pune"}`, Asks: 2, Tries: 3, Calls: 5},
		{Tool: "book", Args: `{"table":7,`, Asks: 1},
	}, tr.Intentions(0))
	require.Equal(t, `search {"city":"Pune"}: the model asked twice, the code called 3 times, and 5 requests reached it`, tr.Intentions(0)[0].String())
}

func TestADialogueSurvivesAFile(t *testing.T) {
	tr := booking(t, &trace.Recorder{Clear: true})
	var file bytes.Buffer
	_, err := tr.WriteTo(&file)
	require.NoError(t, err)
	back, err := trace.Read(&file)
	require.NoError(t, err)
	require.Equal(t, tr.Events, back.Events)
	require.Equal(t, tr.Turns(0), back.Turns(0))
}

func TestARecorderHidesWhatIsSaid(t *testing.T) {
	clear := booking(t, &trace.Recorder{Clear: true})
	tr := booking(t, &trace.Recorder{DigestKey: []byte("k")})
	var file bytes.Buffer
	_, err := tr.WriteTo(&file)
	require.NoError(t, err)
	for _, secret := range []string{"Pune", "A table, please", "Let me look", "down", "booked.", `"c1"`} {
		require.NotContains(t, file.String(), secret)
	}
	require.Equal(t, clear.Intentions(0)[0].Calls, tr.Intentions(0)[0].Calls, "calls are linked all the same")
	require.Len(t, tr.Turns(0)[0].Asks[0].Results, 1)
}

func TestTheProgramsOwnConversationIsNotShared(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	talk := trace.Prompt{Messages: []trace.Message{{From: trace.FromUser, Text: "first"}}}
	model := trace.RecordModel(r, "model", func(context.Context, trace.Prompt) (trace.Reply, error) {
		return trace.Reply{Calls: []trace.ToolCall{{Tool: "search"}}}, nil
	})
	said, err := model(t.Context(), talk)
	require.NoError(t, err)
	talk.Messages[0].Text, said.Calls[0].Tool = "changed", "changed"
	require.Equal(t, "first", r.Trace().Events[0].Prompt.Messages[0].Text)
	require.Equal(t, "search", r.Trace().Events[1].Reply.Calls[0].Tool)
}

func TestTimelineOfADialogue(t *testing.T) {
	tr := booking(t, &trace.Recorder{Clear: true, Clock: clock.NewMock()})
	text := tr.Timeline()
	_, text, _ = strings.Cut(text, "\n") // the first line has the date
	gold.Equal(t, filepath.Join("testdata", "timeline", "dialogue.golden"), text)
}

func TestReadRefusesADialogueItCannotBelieve(t *testing.T) {
	const head = `{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}` + "\n"
	for name, line := range map[string]string{
		"prompt": `{"at":"0s","kind":"call","call":1,"role":"model","prompt":{"mesages":[]}}`,
		"reply":  `{"at":"0s","kind":"answer","call":1,"reply":{"text":7}}`,
		"ask":    `{"at":"0s","kind":"call","call":1,"ask":-1}`,
	} {
		_, err := trace.Read(strings.NewReader(head + line + "\n"))
		wrong, ok := errors.AsType[*trace.FileError](err)
		require.True(t, ok, name)
		require.Equal(t, name, wrong.Field)
	}
}
