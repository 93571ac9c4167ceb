package faultsim

import (
	"context"
	"reflect"

	"github.com/rehearse-go/rehearse/invariants"
)

// Retrier is the adapter of a retry library or helper: anything that takes an
// operation and runs it until it succeeds or the library gives up. The
// operation is the main tool, named "op"; do is called afresh for each action,
// so that state which do makes is not shared. What it returns must be the
// operation's answer, which is told from nothing where Out is a number, a
// string, a bool, or has such fields.
//
//	matrix.Run(t, faultsim.Retrier("backoff", policy, errs,
//		func(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
//			return backoff.Retry(ctx, func() (int, error) { return op(ctx) }, backoff.WithMaxTries(3))
//		}))
func Retrier[Out any](name string, p invariants.Policy, errs Errors, do func(ctx context.Context, op func(context.Context) (Out, error)) (Out, error)) Adapter {
	var answer Out
	fill(reflect.ValueOf(&answer).Elem())
	return Adapter{
		Name:   name,
		Policy: p,
		Subject: func(s *Stage) Action {
			tool := Tool(s, "op", func(context.Context, struct{}) (Out, error) { return answer, nil }, errs)
			op := func(ctx context.Context) (Out, error) { return tool(ctx, struct{}{}) }
			return func(ctx context.Context) (any, error) { return do(ctx, op) }
		},
	}
}

// fill makes a value that is not zero: who loses the operation's answer returns
// the zero one.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(19)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(19)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(19)
	case reflect.String:
		v.SetString("answer")
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}
