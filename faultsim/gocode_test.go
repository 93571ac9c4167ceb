package faultsim

import (
	"fmt"
	"go/ast"
	"go/format"
	goparser "go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/trace"
)

func TestGoCodeRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchedule().Draw(t, "schedule")
		code := fmt.Sprintf("%#v", s)
		expr, err := goparser.ParseExpr(code)
		require.NoError(t, err, code)
		got := reflect.New(reflect.TypeFor[Schedule]()).Elem()
		evaluate(expr, got)
		if !reflect.DeepEqual(s, got.Interface()) {
			t.Fatalf("%s\nis not\n%s", code, s)
		}
		formatted, err := format.Source([]byte(code))
		require.NoError(t, err)
		require.Equal(t, string(formatted), code)
	})
}

// Whatever a rule is called, the printed test compiles, and go test runs it.
func TestNamesOfPrintedTestsAreOnesThatGoTestRuns(t *testing.T) {
	for rule, want := range map[string]string{
		"attempts-bounded": "TestAttemptsBounded", "one charge per invoice": "TestOneChargePerInvoice", "pays/once": "TestPaysOnce", "a.b": "TestAB",
		"3-times": "Test3Times", "été": "TestÉté", "ßend": "Test_ßend", "一次": "Test一次", "no_dup": "TestNoDup", "": "Test", "?!": "Test", "a\xffb": "TestAB",
	} {
		require.Equal(t, want, testName(rule), rule)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := testName(rapid.String().Draw(t, "rule"))
		require.True(t, token.IsIdentifier(name), name)
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(name, "Test"))
		require.False(t, unicode.IsLower(next), name)
		code := Schedule{}.GoTest(name, "adapter()")
		_, err := goparser.ParseFile(token.NewFileSet(), "", "package x\n"+code, 0)
		require.NoError(t, err, code)
	})
}

// evaluate sets a value to what the expression of a schedule means. Its reading of
// names is held to the compiler's by printed_test.go.
func evaluate(e ast.Expr, v reflect.Value) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		v.Set(reflect.ValueOf(evaluated(e, v.Type())).Convert(v.Type()))
		return
	}
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, item := range lit.Elts {
		pair, _ := item.(*ast.KeyValueExpr)
		switch v.Kind() {
		case reflect.Struct:
			evaluate(pair.Value, v.FieldByName(pair.Key.(*ast.Ident).Name))
		case reflect.Map:
			element := reflect.New(v.Type().Elem()).Elem()
			evaluate(pair.Value, element)
			v.SetMapIndex(reflect.ValueOf(evaluated(pair.Key, v.Type().Key())), element)
		case reflect.Slice:
			element := reflect.New(v.Type().Elem()).Elem()
			evaluate(item, element)
			v.Set(reflect.Append(v, element))
		}
	}
}

func evaluated(e ast.Expr, as reflect.Type) any {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			must(err)
			return s
		}
		if n, err := strconv.ParseInt(e.Value, 10, 64); err == nil {
			return n
		}
		n, err := strconv.ParseUint(e.Value, 10, 64)
		must(err)
		return n
	case *ast.Ident:
		return e.Name == "true"
	case *ast.UnaryExpr:
		return -evaluated(e.X, as).(int64)
	case *ast.BinaryExpr:
		x, y := evaluated(e.X, as).(int64), evaluated(e.Y, as).(int64)
		if e.Op == token.ADD {
			return x + y
		}
		return x * y
	case *ast.SelectorExpr:
		return goConstants[e.X.(*ast.Ident).Name+"."+e.Sel.Name]
	}
	panic(fmt.Sprintf("%T", e))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// goConstants are the constants of schedules.
var goConstants = func() map[string]any {
	m := map[string]any{
		"faultsim.Main": Main, "trace.AdviceRetry": trace.AdviceRetry, "trace.AdviceStop": trace.AdviceStop,
	}
	for _, c := range trace.Classes() {
		m["trace."+identifier(c.String())] = c
	}
	for _, u := range units {
		m[u.name] = int64(u.size)
	}
	return m
}()

func TestTimesReadWell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		200 * time.Millisecond:        "200*time.Millisecond",
		1500 * time.Millisecond:       "1500*time.Millisecond",
		time.Second:                   "time.Second",
		90 * time.Minute:              "90*time.Minute",
		100*time.Millisecond - 1:      "99*time.Millisecond + 999*time.Microsecond + 999*time.Nanosecond",
		5*time.Second + 1:             "5*time.Second + time.Nanosecond",
		-1:                            "-1",
		35:                            "35*time.Nanosecond",
		36*time.Hour + 30*time.Minute: "2190*time.Minute",
	} {
		require.Equal(t, want, durationGo(d))
	}
}

// everyClass is a schedule in whose faults each class stands once.
func everyClass() Schedule {
	var faults []Fault
	for _, c := range trace.Classes() {
		faults = append(faults, Fail(c))
	}
	faults[len(faults)-1].Say = "as \"told\""
	return One(faults...)
}

// The schedules of printed_test.go, which the compiler reads.
func printed() []Schedule {
	var list []Schedule
	for _, text := range []string{
		everyClass().String(),
		"rehearse schedule 1\naction deadline=3s\n  weather 1 throttled hint=2s form=date after=200ms\n  weather 3 hang done deaf cancel=1m30.000000001s\n  \"odd \\n name\" 1 transient say=\"why?\" advice=stop wrap=joined\naction again after=30s cancel=before\n",
		"rehearse schedule 1\naction key=none other crash-before-write=2 restart=1m\n  * 1 partial items=b:throttled advice=retry\n  * 2 ok after=1s body=2s work=1s twice\noutage weather from=1s to=3s transient\nquota weather 3 per=1m\njitter greatest\nseed 7\nserial weather\nexpiry at=1.5s\nat-once\n",
	} {
		s, err := Parse(text)
		must(err)
		list = append(list, s)
	}
	return list
}

func TestPrintedCodeIsTheFileThatIsCompiled(t *testing.T) {
	var b strings.Builder
	b.WriteString("package faultsim_test\n\n// What Schedule.GoString and GoTest print, written by go test -update.\n\n")
	b.WriteString("import (\n\"testing\"\n\"time\"\n\n\"github.com/rehearse-go/rehearse/faultsim\"\n\"github.com/rehearse-go/rehearse/trace\"\n)\n\n")
	b.WriteString("var printedSchedules = map[string]faultsim.Schedule{\n")
	for _, s := range printed() {
		fmt.Fprintf(&b, "%s: %#v,\n", "`"+s.String()+"`", s)
	}
	b.WriteString("}\n\n")
	s := One(Throttle(200*time.Millisecond), Fault{Class: trace.Transient, Latency: 3 * time.Millisecond})
	b.WriteString(s.GoTest("TestPrinted", "printedAdapter()") + "\n")
	gold.Equal(t, "printed_test.go", formatted(b.String()))
}
