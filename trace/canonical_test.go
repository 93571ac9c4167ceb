package trace_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	tests := map[string]string{
		``: ``, " \n": ``,
		`null`: `null`, ` true `: `true`, `{}`: `{}`, `[ ]`: `[]`,
		`{"b":1,"a":[1, 2]}`:          `{"a":[1,2],"b":1}`,
		`{"a":1,"b":{"c":[],"d":{}}}`: `{"a":1,"b":{"c":[],"d":{}}}`,
		`{"a":1,"a":2}`:               `{"a":2}`,
		`"\u0041\/<&>"`:               `"A/<&>"`,
		`"é"`:                         `"é"`,
		`"\u00e9"`:                    `"é"`,
		`"\u2028"`:                    `"\u2028"`,
		"\"a\u007fb\"":                "\"a\u007fb\"",
		`0`:                           `0`, `-0`: `0`, `-0.0`: `0`, `0e9`: `0`, `1.0`: `1`, `1e0`: `1`, `10E-1`: `1`, `100e-2`: `1`, `-5.50`: `-5.5`,
		`0.1`: `0.1`, `1e-1`: `0.1`, `0.10`: `0.1`, `1e-7`: `1e-7`, `0.00000012`: `1.2e-7`, `0.0000012`: `0.0000012`,
		`1e20`: `100000000000000000000`, `1e21`: `1e+21`, `1000000000000000000000`: `1e+21`, `123e20`: `1.23e+22`,
		`9007199254740993`:        `9007199254740993`,
		`0.10000000000000000001`:  `0.10000000000000000001`,
		`1e400`:                   `1e+400`,
		`1e99999999999`:           `1e99999999999`,
		`12345678901234567890123`: `1.2345678901234567890123e+22`,
		`not json`:                `"not json"`,
		`1]`:                      `"1]"`,
		`{"a":1}}`:                `"{\"a\":1}}"`,
		`1 2`:                     `"1 2"`,
		`01`:                      `"01"`,
		`{"a":01}`:                `"{\"a\":01}"`,
		`[1,]`:                    `"[1,]"`,
		`{"a"}`:                   `"{\"a\"}"`,
		`-`:                       `"-"`,
		"\xff":                    `"` + "\ufffd" + `"`,
		strings.Repeat("[", 20) + strings.Repeat("]", 20): strings.Repeat("[", 20) + strings.Repeat("]", 20),
		strings.Repeat("[", 99) + strings.Repeat("]", 99): strings.Repeat("[", 99) + strings.Repeat("]", 99),
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got := trace.Canonical([]byte(text))
			require.Equal(t, want, string(got))
			require.Equal(t, want, string(trace.Canonical(got)), "the form is a fixed point")
			require.True(t, trace.SameArgs([]byte(text), got) || want == "")
		})
	}
}

func TestCanonicalDoesNotShareMemory(t *testing.T) {
	text := []byte(`{"a":1}`)
	got := trace.Canonical(text)
	text[2] = 'b'
	require.Equal(t, `{"a":1}`, string(got))
}

func TestCanonicalKeepsValueAndIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := trace.Marshal(rapid.MapOfN(textGen(), rapid.Float64(), 0, 4).Draw(t, "object"))
		canon := trace.Canonical(raw)
		var a, b map[string]float64
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(canon, &b) != nil {
			t.Fatalf("%s became %s", raw, canon)
		}
		for k := range a {
			if a[k] != b[k] {
				t.Fatalf("%s became %s", raw, canon)
			}
		}
		var spaced bytes.Buffer
		if json.Indent(&spaced, raw, " ", "\t") != nil || !trace.SameArgs(raw, spaced.Bytes()) || !bytes.Equal(canon, trace.Canonical(canon)) {
			t.Fatalf("%s has two forms", raw)
		}
	})
}

func TestCanonicalNumbersAreEqualWhereTheValuesAre(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		c, _ := new(big.Rat).SetString(string(trace.Canonical([]byte(a))))
		if x.Cmp(c) != 0 {
			t.Fatalf("%s became %s", a, trace.Canonical([]byte(a)))
		}
		if (x.Cmp(y) == 0) != trace.SameArgs([]byte(a), []byte(b)) {
			t.Fatalf("%s and %s", a, b)
		}
	})
}

func TestMarshalLeavesNothingOutAndNeverPanics(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	require.Nil(t, trace.Marshal(nil))
	require.Equal(t, `{"a":1}`, string(trace.Marshal(json.RawMessage(`{"a":1}`))))
	require.Equal(t, `"NaN"`, string(trace.Marshal(math.NaN())))
	require.Equal(t, `"{A:1 B:+Inf}"`, string(trace.Marshal(struct{ A, B float64 }{1, math.Inf(1)})))
	require.Equal(t, `"([]interface {} with a cycle)"`, string(trace.Marshal(loop)))
	require.Contains(t, string(trace.Marshal(panicking{})), "panicked")

	// encoding/json meets what it cannot write before it meets the cycle.
	circle := map[string]any{"a": make(chan int)}
	circle["z"], circle["list"] = circle, []any{circle}
	require.Equal(t, `"(map[string]interface {} with a cycle)"`, string(trace.Marshal(circle)))
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("odd") }
