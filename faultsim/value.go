package faultsim

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Value is an entry of [Errors] for a class that the tool answers with a value
// instead of an error: the function returns (v, nil). For trace.OK it is the
// answer that holds nothing; see [Fault].Empty. A business "no"
// (trace.Declined), a success flag without its data (trace.Malformed) and a
// result that lacks some items (trace.Partial) often look like that, and so do
// tools that never return an error and put {ok: false} into their result.
//
// The caller has to read the value. Of a decline it is the action's honest
// result; of any other class it is no evidence of a success. v has the type of
// the tool's answer; any other type is reported.
func Value(v any) error { return &value{v} }

type value struct{ v any }

// Error words the entry where it is asked for as an error, which no double does.
func (v *value) Error() string { return fmt.Sprintf("answered as the value %+v", v.v) }

// errAsValue stands for the error of a failure that was answered as a value:
// the caller has none to keep, and words the failure in its own way.
var errAsValue = errors.New("faultsim: answered as a value")

// misfit is the first entry, by class, whose value is not of the type that the
// tool answers; nil: none. It is asked in every trial and allocates nothing
// where all is well.
func (e Errors) misfit(tool string, want reflect.Type) error {
	first := trace.Class(0)
	for class, err := range e {
		if v, ok := err.(*value); ok && !v.is(want) && (first == 0 || class < first) {
			first = class
		}
	}
	v, ok := e[first].(*value)
	if !ok {
		return nil
	}
	return fmt.Errorf("faultsim: %s answers %v with a Value of type %v, and the tool's answer is %v: give Value that type",
		tool, first, reflect.TypeOf(v.v), want)
}

func (v *value) is(want reflect.Type) bool {
	if got := reflect.TypeOf(v.v); got != nil {
		return got.AssignableTo(want)
	}
	switch want.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func:
		return true
	}
	return false
}

// valued is the value that the tool answers for the fault's class, if that is
// what it does: a copy, since trials run side by side.
func valued[Out any](e Errors, f *Fault) (out Out, ok bool) {
	v, ok := e[f.class()].(*value)
	if !ok {
		return out, false
	}
	out, _ = v.v.(Out)
	return double.Clone(out), true
}
