package trace

import (
	"context"
	"strconv"
	"strings"
	"sync"
)

// Layer puts a layer's name on the context of the calls below it. Each layer
// that may retry says so where it is entered, before its loop:
//
//	func (c *Client) Get(ctx context.Context, q Query) (Answer, error) {
//		ctx = trace.Layer(ctx, "client")
//		…
//	}
//
// Calls below carry the path of the layers, outermost first, with a number
// behind a name that was entered again under the same parent: a call of the
// second time that an agent asked its client is of "agent/client#2". So the
// trace shows how the layers' attempts multiply (field case F050). A layer
// that was entered and called nothing is not counted.
//
// A slash or # in the name becomes a hyphen.
func Layer(ctx context.Context, name string) context.Context {
	parent, _ := ctx.Value(layerKey{}).(*layer)
	return context.WithValue(ctx, layerKey{}, &layer{parent: parent, name: plainLayer.Replace(name)})
}

var plainLayer = strings.NewReplacer("/", "-", "#", "-")

type layerKey struct{}

// A layer is one entry into a layer.
type layer struct {
	parent *layer
	name   string

	mu       sync.Mutex
	path     string // with numbers; empty: nothing has been called below it
	children entries
}

// entries counts how often each name was entered.
type entries map[string]int

// number returns the name with the number of this entry behind it.
func (e *entries) number(name string) string {
	if *e == nil {
		*e = entries{}
	}
	(*e)[name]++
	if n := (*e)[name]; n > 1 {
		return name + "#" + strconv.Itoa(n)
	}
	return name
}

// layerOf is the path of the layers that the context carries. The first call
// below an entry gives it its number. The outermost layers are counted by the
// action; nil: the call is ambiguous, and they are not counted.
func layerOf(ctx context.Context, o *Op) string {
	l, _ := ctx.Value(layerKey{}).(*layer)
	if l == nil {
		return ""
	}
	return l.place(o)
}

// place locks from the innermost layer outwards.
func (l *layer) place(o *Op) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.path != "":
	case l.parent != nil:
		l.path = l.parent.below(o, l.name)
	case o != nil:
		l.path = o.layers.number(l.name)
	default:
		return l.name
	}
	return l.path
}

// below is the path of an entry into the layer of that name under this one.
func (l *layer) below(o *Op, name string) string {
	path := l.place(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	return path + "/" + l.children.number(name)
}
