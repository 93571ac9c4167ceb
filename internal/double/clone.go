package double

import (
	"reflect"
	"sync"
)

// Clone returns a copy of v that shares no memory with it, as far as Go lets
// one: pointers, slices, maps and interfaces are followed. What is behind a
// pointer to a struct with unexported fields is shared, since only the package
// that made it can copy it; so are channels and functions. A struct of that
// kind that is held by value (a time.Time) is copied as an assignment does.
func Clone[T any](v T) T {
	r := reflect.ValueOf(&v).Elem()
	if !refers(r.Type()) {
		return v
	}
	c := copier{}
	r.Set(c.copy(r))
	return v
}

// A copier remembers what it has followed, so that a cycle ends and two
// pointers to one value stay two pointers to one value.
type copier map[visit]reflect.Value

type visit struct {
	at  uintptr
	len int // of a slice: two of one array differ in it
	typ reflect.Type
}

func (c copier) copy(v reflect.Value) reflect.Value {
	if !refers(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer:
		return c.pointer(v)
	case reflect.Slice:
		return c.slice(v)
	case reflect.Map:
		return c.mapping(v)
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		to := reflect.New(v.Type()).Elem()
		to.Set(c.copy(v.Elem()))
		return to
	case reflect.Struct, reflect.Array:
		to := reflect.New(v.Type()).Elem()
		to.Set(v)
		c.inside(to)
		return to
	}
	return v
}

// inside copies what the fields or elements of v, which can be set, refer to.
func (c copier) inside(v reflect.Value) {
	if v.Kind() == reflect.Array {
		for i := range v.Len() {
			v.Index(i).Set(c.copy(v.Index(i)))
		}
		return
	}
	for _, f := range v.Fields() {
		if f := f; f.CanSet() {
			f.Set(c.copy(f))
		}
	}
}

func (c copier) pointer(v reflect.Value) reflect.Value {
	if v.IsNil() || opaque(v.Type().Elem()) {
		return v
	}
	at := visit{at: v.Pointer(), typ: v.Type()}
	if done, ok := c[at]; ok {
		return done
	}
	to := reflect.New(v.Type().Elem())
	if to.Type() != v.Type() {
		to = to.Convert(v.Type())
	}
	c[at] = to
	to.Elem().Set(c.copy(v.Elem()))
	return to
}

func (c copier) slice(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	at := visit{v.Pointer(), v.Len(), v.Type()}
	if done, ok := c[at]; ok {
		return done
	}
	to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	c[at] = to
	reflect.Copy(to, v)
	if refers(v.Type().Elem()) {
		for i := range to.Len() {
			to.Index(i).Set(c.copy(to.Index(i)))
		}
	}
	return to
}

func (c copier) mapping(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	at := visit{at: v.Pointer(), typ: v.Type()}
	if done, ok := c[at]; ok {
		return done
	}
	to := reflect.MakeMapWithSize(v.Type(), v.Len())
	c[at] = to
	for it := v.MapRange(); it.Next(); {
		to.SetMapIndex(it.Key(), c.copy(it.Value()))
	}
	return to
}

func opaque(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for field := range t.Fields() {
		if !field.IsExported() {
			return true
		}
	}
	return false
}

var reference sync.Map // reflect.Type → whether its values refer to other memory

func refers(t reflect.Type) bool {
	if known, ok := reference.Load(t); ok {
		return known.(bool)
	}
	found := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		found = true
	case reflect.Array:
		found = refers(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			found = found || refers(field.Type)
		}
	}
	reference.Store(t, found)
	return found
}
