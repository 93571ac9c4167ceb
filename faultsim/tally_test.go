package faultsim

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a shard has met travels as JSON, so nothing in a tally may be hidden from it.
func TestTallyTravelsWhole(t *testing.T) {
	var exported func(reflect.Type)
	exported = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
			exported(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				require.True(t, of.Field(i).IsExported(), "%v.%s is lost between machines", of, of.Field(i).Name)
				exported(of.Field(i).Type)
			}
		}
	}
	exported(reflect.TypeFor[tally]())

	content, err := json.Marshal(tally{Trials: 7})
	require.NoError(t, err)
	var back tally
	require.NoError(t, json.Unmarshal(content, &back))
	require.Equal(t, tally{Trials: 7}, back)
}
