package faultsim

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/trace"
)

// anySchedule generates schedules far beyond those that Check draws, in the
// normal form of the text: no attempts at a list's end that are answered at once.
func anySchedule() *rapid.Generator[Schedule] {
	duration := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(1, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }))
	fault := rapid.Custom(func(t *rapid.T) Fault {
		f := Fault{
			Class:   rapid.SampledFrom(append([]trace.Class{0}, trace.Classes()[1:]...)).Draw(t, "class"),
			Hint:    duration.Draw(t, "hint"),
			Form:    rapid.SampledFrom(hintForms).Draw(t, "form"),
			Empty:   rapid.Bool().Draw(t, "empty"),
			Latency: duration.Draw(t, "latency"),
			Hang:    rapid.Bool().Draw(t, "hang"),
			Done:    rapid.Bool().Draw(t, "done"),
			Deaf:    rapid.Bool().Draw(t, "deaf"),
			Cancel:  duration.Draw(t, "cancel"),
			Crash:   duration.Draw(t, "crash"),
			Drain:   duration.Draw(t, "drain"),
			Valid:   duration.Draw(t, "valid"),
		}
		if f.Hang {
			f.Latency = 0
		}
		if f.Hint == 0 {
			f.Form = HintSeconds
		}
		if !f.Hang && f.class() == trace.OK {
			f.Move = rapid.SampledFrom(append([]Move{MoveNone}, moves...)).Draw(t, "move")
		}
		if !f.Hang && f.class() != trace.OK {
			f.Say = rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{`"`, "#", " a=b ", "line\nbreak", "\xff"})).Draw(t, "say")
			f.Wrap = rapid.SampledFrom(wrapForms).Draw(t, "wrap")
			f.Advice = rapid.SampledFrom([]trace.Advice{trace.AdviceNone, trace.AdviceRetry, trace.AdviceStop}).Draw(t, "advice")
		}
		f.Work = duration.Draw(t, "work")
		f.Twice = rapid.Bool().Draw(t, "twice")
		f.Panic = rapid.Bool().Draw(t, "panic")
		if f.Body = duration.Draw(t, "body"); f.validBody() != nil {
			f.Body = 0
		}
		if f.Class == trace.Partial && !f.Hang {
			f.Items = rapid.SampledFrom([]trace.Items{"", "b:throttled", "#1:invalid,a+b:reset,%2C:timeout"}).Draw(t, "items")
		}
		return f
	})
	name := rapid.OneOf(rapid.Just(Main), rapid.StringMatching(`[a-z][a-z.-]{0,9}`), rapid.String(),
		rapid.SampledFrom([]string{"", " ", "#", `"`, "a b", "tab\there", "line\nbreak", "\xff", "\u00a0", "action", "at-once", "1", "héhé", `\`, "`", "a\r"}))
	return rapid.Custom(func(t *rapid.T) Schedule {
		s := Schedule{Actions: make([]Plan, rapid.IntRange(1, 3).Draw(t, "actions")), AtOnce: rapid.Bool().Draw(t, "at once")}
		for range rapid.IntRange(0, 2).Draw(t, "outages") {
			from := min(duration.Draw(t, "from"), math.MaxInt64-1)
			to := rapid.Int64Range(int64(from)+1, math.MaxInt64).Draw(t, "to")
			s.Outages = append(s.Outages, Outage{name.Draw(t, "tool"), from, time.Duration(to), rapid.SampledFrom(trace.Classes()[1:]).Draw(t, "class")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "quotas") {
			per := rapid.Int64Range(1, math.MaxInt64).Draw(t, "per")
			s.Quotas = append(s.Quotas, Quota{name.Draw(t, "tool"), rapid.IntRange(1, maxAttempt).Draw(t, "n"), time.Duration(per)})
		}
		for range rapid.IntRange(0, 2).Draw(t, "buckets") {
			every := rapid.Int64Range(1, math.MaxInt64).Draw(t, "every")
			s.Buckets = append(s.Buckets, Bucket{name.Draw(t, "tool"), rapid.IntRange(1, maxAttempt).Draw(t, "n"), time.Duration(every)})
		}
		s.Jitter = rapid.SampledFrom(jitterPins).Draw(t, "jitter")
		s.Seed = rapid.Uint64().Draw(t, "seed")
		s.Serial = rapid.SliceOfNDistinct(name, 0, 2, rapid.ID).Draw(t, "serial")
		if len(s.Serial) == 0 {
			s.Serial = nil
		}
		for range rapid.IntRange(0, 2).Draw(t, "expiries") {
			s.Expiries = append(s.Expiries, time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "expiry")))
		}
		s.Calm = max(duration.Draw(t, "calm"), 0)
		for i := range s.Actions {
			p := &s.Actions[i]
			p.Again = rapid.Bool().Draw(t, "again")
			p.After = duration.Draw(t, "after")
			p.Deadline = duration.Draw(t, "deadline")
			p.Cancel = duration.Draw(t, "cancel")
			if rapid.Bool().Draw(t, "before") {
				p.Cancel = -1
			}
			p.CrashBeforeWrite = rapid.IntRange(0, maxAttempt).Draw(t, "crash before write")
			p.CrashAfterWrite = rapid.IntRange(0, 2).Draw(t, "crash after write")
			p.Restart = duration.Draw(t, "restart")
			p.Grace = duration.Draw(t, "grace")
			p.Key = rapid.SampledFrom([]int{0, 0, NoKey, 2, 3, math.MaxInt}).Draw(t, "key")
			p.Other = rapid.Bool().Draw(t, "other")
			for tool, list := range rapid.MapOfN(name, rapid.SliceOfN(fault, 0, 4), 0, 3).Draw(t, "faults") {
				for len(list) > 0 && list[len(list)-1].plain() {
					list = list[:len(list)-1]
				}
				if len(list) > 0 {
					if p.Faults == nil {
						p.Faults = map[string][]Fault{}
					}
					p.Faults[tool] = list
				}
			}
		}
		return s
	})
}

func TestTextFormRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchedule().Draw(t, "schedule")
		text := s.String()
		got, err := Parse(text)
		require.NoError(t, err, text)
		if !reflect.DeepEqual(s, got) {
			t.Fatalf("%#v became %#v through\n%s", s, got, text)
		}
		require.Equal(t, text, got.String())
		crlf, err := Parse(strings.ReplaceAll(text, "\n", "\r\n"))
		require.NoError(t, err, text)
		require.Equal(t, text, crlf.String())
	})
}

// A class that is written as trace.OK is the one that is left out.
func TestTheTextOfAnAnswerIsOne(t *testing.T) {
	for _, f := range []Fault{{}, {Hang: true}, {Panic: true}, {Hang: true, Body: time.Second}, {Move: MoveTwin}} {
		g := f
		g.Class = trace.OK
		require.Equal(t, describe(&f), describe(&g))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("rehearse schedule 1\naction deadline=3s\n  weather 1 transient after=200ms\n  weather 2 throttled hint=2s form=date\naction cancel=before\nat-once\n")
	f.Add("rehearse schedule 1\r\naction\r\n\t\"odd \\n name\" 2 ok hang done deaf cancel=1h # why\r\n")
	f.Add("rehearse schedule 1\naction\n  a 1 ok\n  a 100000 ok\n")
	f.Add("rehearse schedule 1\naction after=3s\n  a 1 partial items=b:throttled,#3:forbidden\n")
	f.Add("rehearse schedule 1\naction again crash-before-write=2 crash-after-write=1 restart=1m\n  a 1 ok empty crash=1s\n  a 2 ok after=1s body=2s work=1s twice\naction key=2 other\naction key=none\n")
	f.Add("rehearse schedule 1\naction\n  a 1 transient say=\"retry with admin=true\" advice=stop wrap=joined\n  b 1 panic\n  b 2 throttled hint=2s form=skewed\noutage a from=1s to=3s transient\nquota a 3 per=1m\njitter greatest\nseed 7\nserial a\nexpiry at=1.5s\nat-once\n")
	f.Add("rehearse case 1\ninvariant same-arguments\n\nrehearse schedule 1\naction\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCase(text); err == nil {
			again, err := parseCase(c.text("TestX", "headline"))
			if err != nil || again.invariant != c.invariant || again.schedule.String() != c.schedule.String() {
				t.Fatalf("%q reads back as %v, %v", text, again, err)
			}
		}
		s, err := Parse(text)
		if err != nil {
			if bad, ok := errors.AsType[*ParseError](err); !ok || bad.Line < 1 || bad.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("%q: %v names no line of the text", text, err)
			}
			return
		}
		again, err := Parse(s.String())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%q prints as\n%s\nwhich reads as %#v, %v", text, s, again, err)
		}
	})
}

func TestMalformedTextNamesLineAndFix(t *testing.T) {
	const head = "rehearse schedule 1\naction\n"
	var got strings.Builder
	for _, text := range []string{
		"",
		"\n# only a comment\n",
		"rehearse schedule 2\naction\n",
		"rehearse schedule 1\n",
		"rehearse schedule 1\n  weather 1 transient\n",
		"rehearse schedule 1\nactoin\n",
		"rehearse schedule 1\naction deadline\n",
		"rehearse schedule 1\naction deadline=\n",
		"rehearse schedule 1\naction deadline=3\n",
		"rehearse schedule 1\naction deadline=soon\n",
		"rehearse schedule 1\naction deadline=0s\n",
		"rehearse schedule 1\naction deadline=-3s\n",
		"rehearse schedule 1\naction deadline=3s deadline=3s\n",
		"rehearse schedule 1\naction deadline=99999999999h\n",
		"rehearse schedule 1\naction dead=3s\n",
		"rehearse schedule 1\naction cancel=-1s\n",
		"rehearse schedule 1\naction cancel=never\n",
		"rehearse schedule 1\naction again=yes\n",
		"rehearse schedule 1\naction crash-after-write=0\n",
		"rehearse schedule 1\naction crash-before-write=two\n",
		"rehearse schedule 1\naction restart=-1s\n",
		head + "  weather 1 transient crash=0s\n",
		head + "at-once\nat-once\n",
		head + "at-once now\n",
		head + "  weather\n",
		head + "  weather 1\n",
		head + "  weather one transient\n",
		head + "  weather 0 transient\n",
		head + "  weather -1 transient\n",
		head + "  weather 1000000 ok\n",
		head + "  weather 99999999999999999999 ok\n",
		head + "  a 60000 ok\n  b 60000 ok\n",
		head + "  weather 1 transcient\n",
		head + "  weather 2 transient\n  weather 2 transient\n",
		head + "  weather 2 transient\n  weather 1 transient\n",
		head + "  weather 1 transient after=1s after=2s\n",
		head + "  weather 1 transient after=-1s\n",
		head + "  weather 1 transient hint=1\n",
		head + "  weather 1 throttled hint=2s form=iso\n",
		head + "  weather 1 transient hang hang\n",
		head + "  weather 1 hang hang\n",
		head + "  weather 1 transient hang=yes\n",
		head + "  weather 1 transient hang=\n",
		head + "  weather 1 ok hang after=1s\n",
		head + "  weather 1 throttled form=date\n",
		head + "  weather 1 transient slow\n",
		head + "  weather 1 transient advice=perhaps\n",
		head + "  weather 1 transient cancel=0s\n",
		head + "  \"weather 1 transient\n",
		head + "  \"weather\"1 transient\n",
		head + "  \"\\q\" 1 transient\n",
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
		fmt.Fprintf(&got, "%s\n    %v\n", strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(text, head), "\n", "⏎"), "⏎"), err)
	}
	golden(t, "malformed-schedules", got.String())
}

// A class beyond the list, a negative time and the like come from Go code.
func TestUnplayableScheduleNamesTheField(t *testing.T) {
	var got strings.Builder
	for _, s := range []Schedule{
		One(Fault{Class: 99}),
		One(Fault{}, Fault{Latency: -time.Second}),
		One(Fault{Class: trace.Transient, Hint: -1}),
		One(Fault{Class: trace.Transient, Cancel: -1}),
		One(Fault{Form: "iso"}),
		One(Fault{Class: trace.Throttled, Form: HintDate}),
		One(Fault{Class: trace.Transient, Latency: 366 * 24 * time.Hour}),
		One(Fault{Hang: true, Latency: time.Second}),
		One(Fault{Class: trace.Transient, Advice: 9}),
		One(Fault{Hang: true, Advice: trace.AdviceStop}),
		One(Fault{Class: trace.Transient, Advice: trace.AdviceStop}),
		{Actions: []Plan{{Deadline: -time.Second}}},
		One(Fail(trace.Invalid)),
		One(Throttle(time.Second)),
		{Actions: []Plan{{Faults: map[string][]Fault{"news": {{}}}}}},
	} {
		r := Trial(t, homeAdapter(), s)
		require.Error(t, r.Err)
		fmt.Fprintln(&got, r.Err)
	}
	golden(t, "unplayable-schedules", got.String())
}

func TestHostileTextCostsLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString("rehearse schedule 1\naction\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  tool%d %d ok\n", i, maxAttempt)
	}
	for _, text := range []string{b.String(), "rehearse schedule 1\naction\n  weather 1000000 ok\n", "rehearse schedule 1\n" + strings.Repeat("action\n", 10_000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Parse(text)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	}
}

func TestTextReadsWell(t *testing.T) {
	s := Schedule{AtOnce: true, Actions: []Plan{
		{Deadline: 3 * time.Second, Faults: map[string][]Fault{
			"weather":   {Fail(trace.Transient), {}, Throttle(2 * time.Second)},
			"news feed": {{Hang: true, Done: true}},
		}},
		{Cancel: 1500 * time.Millisecond},
	}}
	require.Equal(t, `rehearse schedule 1
action deadline=3s
  "news feed" 1 hang done
  weather 1 transient
  weather 3 throttled hint=2s
action cancel=1.5s
at-once
`, s.String())
}

func TestCommentsAndSpacesArePassedOver(t *testing.T) {
	got, err := Parse("\n# a comment\nrehearse schedule 1\n\n   # another\naction   cancel=1s # why\n\t\"weather\"\t1  transient   after=1s#2\n")
	if err == nil {
		t.Fatal("after=1s#2 is no duration")
	}
	got, err = Parse("\n# a comment\nrehearse schedule 1\n\n   # another\naction   cancel=1s # why\n\t\"weather\"\t1  transient   after=1s #2\n")
	require.NoError(t, err)
	require.Equal(t, "rehearse schedule 1\naction cancel=1s\n  weather 1 transient after=1s\n", got.String())
}

// A window of no time is refused with the line that would do.
func TestAQuotaHasAWindow(t *testing.T) {
	_, err := Parse("rehearse schedule 1\nquota web 3 per=0s\n")
	require.ErrorContains(t, err, "per=0s is no window: say how long a quota holds, such as per=1m")
}
