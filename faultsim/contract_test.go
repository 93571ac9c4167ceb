package faultsim

import (
	"reflect"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

func TestContractFollowsThePolicy(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Throttled}}
	first := contractOf(&p)
	assert.Same(t, first, contractOf(&p))
	assert.NoError(t, first.err)

	p.Retry[0] = trace.OK // behind the back of whoever kept the slice
	second := contractOf(&p)
	assert.NotSame(t, first, second)
	assert.Error(t, second.err)
	assert.NotEqual(t, string(first.content), string(second.content))
	assert.Equal(t, []trace.Class{trace.Throttled}, first.policy.Retry)
}

// Whatever a policy comes to hold by reference must be copied for the contract.
func TestContractCopiesAllThatAPolicyRefersTo(t *testing.T) {
	assert.Equal(t, []string{"Policy.Retry", "Policy.Undone", "Policy.Desired", "Backoff.Delays", "Hint.Classes", "Policy.Tools", "Correct.Fields"}, references(reflect.TypeFor[invariants.Policy]()))
}

// A field that is left out of the comparison would let a changed policy be
// judged as the one before it.
func TestPoliciesAreComparedInEveryField(t *testing.T) {
	var zero, changed invariants.Policy
	n := 0
	eachField(reflect.ValueOf(&changed).Elem(), func(name string, f reflect.Value) {
		was := reflect.ValueOf(f.Interface())
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("x")
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]invariants.Policy{"pay": {}}))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			f.SetInt(1)
		}
		assert.False(t, same(&zero, &changed), name)
		f.Set(was)
		assert.True(t, same(&zero, &changed), name)
		n++
	})
	assert.GreaterOrEqual(t, n, 26)
}

func eachField(v reflect.Value, do func(name string, f reflect.Value)) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct {
			eachField(f, do)
		} else {
			do(v.Type().Name()+"."+v.Type().Field(i).Name, f)
		}
	}
}

func references(t reflect.Type) []string {
	var list []string
	for f := range t.Fields() {
		switch f.Type.Kind() {
		case reflect.Struct:
			list = append(list, references(f.Type)...)
		case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Func, reflect.Interface:
			list = append(list, t.Name()+"."+f.Name)
		}
	}
	return list
}

func TestCanonicalBodyIsThatOfTheLatestAnswer(t *testing.T) {
	body := []byte(`{"b":1, "a":2}`)
	assert.Equal(t, `{"a":2,"b":1}`, string(canonical(body)))
	assert.Equal(t, `{"a":2,"b":1}`, string(canonical(body)))
	copy(body, `{"c":1`) // a handler may use its buffer again
	assert.Equal(t, `{"a":2,"c":1}`, string(canonical(body)))
}

// The policies of single tools are copied and compared like the policy itself.
func TestContractFollowsThePoliciesOfTools(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 2, Tools: map[string]invariants.Policy{
		"pay": {ID: "pay/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Throttled}},
	}}
	first := contractOf(&p)
	assert.Same(t, first, contractOf(&p))
	p.Tools["pay"].Retry[0] = trace.NotConnected
	assert.NotSame(t, first, contractOf(&p))
	assert.Equal(t, []trace.Class{trace.Throttled}, first.policy.Tools["pay"].Retry)
}
