package agentloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A Place is what is searched for.
type Place struct {
	City string `json:"city"`
}

// An Order is what is booked.
type Order struct {
	Table  string `json:"table"`
	People int    `json:"people"`
}

// A Booking is an order with the key by which the booking is known.
type Booking struct {
	Order
	Key string `json:"key"`
}

// keyed puts the key into checked arguments. The model neither sees nor chooses it.
func keyed(args json.RawMessage, key string) json.RawMessage {
	b := Booking{Key: key}
	_ = json.Unmarshal(args, &b.Order) // they were made from one
	args, _ = json.Marshal(b)
	return args
}

// prepare finds the tool and checks the arguments: a field that the tool does not know
// is refused, and not left out.
func (a *Agent) prepare(c Call) (Tool, json.RawMessage, error) {
	switch c.Tool {
	case "search":
		args, err := exactly[Place](c)
		return a.Search, args, err
	case "book":
		args, err := exactly[Order](c)
		return a.Book, args, err
	}
	return nil, nil, fmt.Errorf("there is no tool %q: there are search and book", c.Tool)
}

// exactly returns the arguments in one form for all ways to write them.
func exactly[T any](c Call) (json.RawMessage, error) {
	var args T
	d := json.NewDecoder(bytes.NewReader([]byte(c.Args)))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil || d.More() {
		return nil, fmt.Errorf("not run: these are no arguments for %s", c.Tool)
	}
	return json.Marshal(args)
}

// A guard counts what a run has done, so that a model that asks again does not begin
// the count anew.
type guard struct {
	spent map[string]int    // attempts, by tool and arguments
	over  map[string]string // why a call is not made again
	order json.RawMessage   // the booking that was tried first
}

var errSpent = errors.New("this was tried often enough: tell the user, do not ask again")

// admit reports why a call is not made; nil: it is.
func (g *guard) admit(tool string, args json.RawMessage) error {
	id := tool + string(args)
	switch {
	case g.over[id] != "":
		return errors.New(g.over[id])
	case g.spent[id] >= attempts:
		return errSpent
	case tool != "book":
	case g.order == nil:
		g.order = args
	case !bytes.Equal(g.order, args):
		return errors.New("not run: another booking than the one that failed; ask the user first")
	}
	return nil
}

// spend takes one attempt; false: there is none left.
func (g *guard) spend(tool string, args json.RawMessage) bool {
	id := tool + string(args)
	if g.spent[id] >= attempts {
		return false
	}
	g.spent[id]++
	return true
}

// close notes that a call has failed for good.
func (g *guard) close(tool string, args json.RawMessage, err error) {
	g.over[tool+string(args)] = told(tool, err).Error()
}
