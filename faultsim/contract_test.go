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
	assert.Equal(t, []string{"Policy.Retry", "Policy.Undone", "Policy.Desired", "Backoff.Delays", "Hint.Classes"}, references(reflect.TypeFor[invariants.Policy]()))
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
