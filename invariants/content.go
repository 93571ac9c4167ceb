package invariants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Content is the policy as canonical JSON: what goes into traces, baselines
// and case files. Two policies that are equal have the same content. It is nil
// where a number of the policy cannot be written (NaN or infinite), which
// [Policy.Validate] refuses.
func (p Policy) Content() json.RawMessage {
	text, err := p.MarshalJSON()
	if err != nil {
		return nil
	}
	return trace.Canonical(text)
}

// MarshalJSON writes the policy for people to read: durations as in Go
// ("1.5s"), classes by name, the published kinds of jitter by theirs, and
// nothing that is zero.
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(policyText{
		ID: p.ID, MaxAttempts: attempts(p.MaxAttempts), Attempt: span(p.Attempt), Budget: span(p.Budget), BudgetCuts: p.BudgetCuts,
		Price: p.Price, Spend: p.Spend, Retry: p.Retry, Advice: p.Advice, Undone: p.Undone, Desired: p.Desired,
		Backoff: backoffText{
			Base: span(p.Backoff.Base), Factor: p.Backoff.Factor, Cap: span(p.Backoff.Cap),
			CapIs: p.Backoff.CapIs, Jitter: p.Backoff.Jitter, Delays: spans(p.Backoff.Delays),
		},
		Hint: hintText{p.Hint.Use, span(p.Hint.Limit), p.Hint.Over, p.Hint.Jitter, p.Hint.Classes, p.Hint.Resets},
		Late: p.Late, BudgetLate: p.BudgetLate, Key: p.Key, Reconcile: p.Reconcile, Hedge: hedgeText{span(p.Hedge.After), p.Hedge.Max}, Winner: p.Winner, Repeatable: p.Repeatable, Tools: p.Tools, Refresh: refreshText(p.Refresh), Correct: correctText(p.Correct),
		Restart: p.Restart, RestartBudget: p.RestartBudget, Drain: p.Drain,
	})
}

// UnmarshalJSON reads what MarshalJSON writes. A field that it does not know
// is an error that names it. Whether the policy makes sense is the business of
// [Policy.Validate].
func (p *Policy) UnmarshalJSON(text []byte) error {
	var t policyText
	if err := strictly(text, &t); err != nil {
		return fmt.Errorf("invariants: policy: %w", err)
	}
	*p = Policy{
		ID: t.ID, MaxAttempts: int(t.MaxAttempts), Attempt: time.Duration(t.Attempt), Budget: time.Duration(t.Budget), BudgetCuts: t.BudgetCuts,
		Price: t.Price, Spend: t.Spend, Retry: t.Retry, Advice: t.Advice, Undone: t.Undone, Desired: t.Desired,
		Backoff: Backoff{
			Base: time.Duration(t.Backoff.Base), Factor: t.Backoff.Factor, Cap: time.Duration(t.Backoff.Cap),
			CapIs: t.Backoff.CapIs, Jitter: t.Backoff.Jitter, Delays: durations(t.Backoff.Delays),
		},
		Hint: Hint{t.Hint.Use, time.Duration(t.Hint.Limit), t.Hint.Over, t.Hint.Jitter, t.Hint.Classes, t.Hint.Resets},
		Late: t.Late, BudgetLate: t.BudgetLate, Key: t.Key, Reconcile: t.Reconcile, Hedge: Hedge{time.Duration(t.Hedge.After), t.Hedge.Max}, Winner: t.Winner, Repeatable: t.Repeatable, Tools: t.Tools, Refresh: Refresh(t.Refresh), Correct: Correct(t.Correct),
		Restart: t.Restart, RestartBudget: t.RestartBudget, Drain: t.Drain,
	}
	return nil
}

type policyText struct {
	ID          string        `json:"id,omitzero"`
	MaxAttempts attempts      `json:"maxAttempts,omitzero"`
	Attempt     span          `json:"attempt,omitzero"`
	Budget      span          `json:"budget,omitzero"`
	BudgetCuts  bool          `json:"budgetCuts,omitzero"`
	Price       int           `json:"price,omitzero"`
	Spend       int           `json:"spend,omitzero"`
	Retry       []trace.Class `json:"retry,omitempty"`
	Advice      AdviceUse     `json:"advice,omitzero"`
	Undone      []trace.Class `json:"undone,omitempty"`
	Desired     []trace.Class `json:"desired,omitempty"`
	Backoff     backoffText   `json:"backoff,omitzero"`
	Hint        hintText      `json:"hint,omitzero"`
	Late        Late          `json:"late,omitzero"`
	BudgetLate  Late          `json:"budgetLate,omitzero"`
	Key         string        `json:"key,omitzero"`
	Reconcile   bool          `json:"reconcile,omitzero"`
	Hedge       hedgeText     `json:"hedge,omitzero"`
	Winner      Winner        `json:"winner,omitzero"`
	Repeatable  bool          `json:"repeatable,omitzero"`

	Refresh refreshText `json:"refresh,omitzero"`
	Correct correctText `json:"correct,omitzero"`

	Restart       AfterRestart       `json:"restart,omitzero"`
	RestartBudget BudgetAfterRestart `json:"restartBudget,omitzero"`
	Drain         DrainedAttempt     `json:"drain,omitzero"`

	Tools map[string]Policy `json:"tools,omitempty"`
}

type hedgeText struct {
	After span `json:"after,omitzero"`
	Max   int  `json:"max,omitzero"`
}

type refreshText struct {
	Once       bool   `json:"once,omitzero"`
	Credential string `json:"credential,omitzero"`
	Extra      bool   `json:"extra,omitzero"`
	Shared     bool   `json:"shared,omitzero"`
	Early      bool   `json:"early,omitzero"`
}

type correctText struct {
	Once      bool     `json:"once,omitzero"`
	FromError bool     `json:"fromError,omitzero"`
	Fields    []string `json:"fields,omitempty"`
}

// IsZero is for omitzero: an empty list is as good as none.
func (c correctText) IsZero() bool { return !c.Once && !c.FromError && len(c.Fields) == 0 }

type backoffText struct {
	Base   span    `json:"base,omitzero"`
	Factor float64 `json:"factor,omitzero"`
	Cap    span    `json:"cap,omitzero"`
	CapIs  CapRule `json:"capIs,omitzero"`
	Jitter Jitter  `json:"jitter,omitzero"`
	Delays []span  `json:"delays,omitempty"`
}

// IsZero is for omitzero: an empty list is as good as none.
func (b backoffText) IsZero() bool {
	return b.Base == 0 && b.Factor == 0 && b.Cap == 0 && b.CapIs == "" && b.Jitter.none() && len(b.Delays) == 0
}

type hintText struct {
	Use     HintUse       `json:"use,omitzero"`
	Limit   span          `json:"limit,omitzero"`
	Over    HintOver      `json:"over,omitzero"`
	Jitter  float64       `json:"jitter,omitzero"`
	Classes []trace.Class `json:"classes,omitempty"`
	Resets  bool          `json:"resets,omitzero"`
}

// IsZero is for omitzero: an empty list is as good as none.
func (h hintText) IsZero() bool {
	return h.Use == "" && h.Limit == 0 && h.Over == "" && h.Jitter == 0 && !h.Resets && len(h.Classes) == 0
}

// jitterNames are the published kinds.
var jitterNames = []struct {
	name string
	kind Jitter
}{{"full", FullJitter}, {"equal", EqualJitter}, {"decorrelated", DecorrelatedJitter}}

type jitterText struct {
	Low          float64 `json:"low,omitzero"`
	High         float64 `json:"high,omitzero"`
	Decorrelated bool    `json:"decorrelated,omitzero"`
}

// MarshalJSON writes a published kind by its name: "full", "equal" or
// "decorrelated"; any other as {"low":0.8,"high":1.2}.
func (j Jitter) MarshalJSON() ([]byte, error) {
	for _, known := range jitterNames {
		if j == known.kind {
			return json.Marshal(known.name)
		}
	}
	return json.Marshal(jitterText(j))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (j *Jitter) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '"' {
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return err
		}
		for _, known := range jitterNames {
			if known.name == name {
				*j = known.kind
				return nil
			}
		}
		return fmt.Errorf(`jitter %q is not known; say "full", "equal", "decorrelated" or {"low":…,"high":…}`, name)
	}
	var t jitterText
	if err := strictly(text, &t); err != nil {
		return fmt.Errorf("jitter: %w", err)
	}
	*j = Jitter(t)
	return nil
}

// strictly decodes one JSON value and refuses fields that it does not know.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			field := ""
			if kind.Field != "" {
				field = kind.Field + ": "
			}
			return fmt.Errorf("%sa JSON %s does not belong here; write it as Policy.Content does", field, kind.Value)
		}
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("there is no field %s; take it out, or write its name as Policy.Content does", name)
		}
		return err
	}
	if string(bytes.TrimSpace(text)) == "null" {
		return errors.New("null says nothing; leave it out")
	}
	if d.More() {
		return fmt.Errorf("there is more than one JSON value")
	}
	return nil
}

// span is a duration that reads as in Go.
type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`%q is no duration; say it as in Go: "1.5s"`, text)
	}
	*s = span(d)
	return nil
}

func spans(list []time.Duration) (texts []span) {
	for _, d := range list {
		texts = append(texts, span(d))
	}
	return texts
}

func durations(texts []span) (list []time.Duration) {
	for _, s := range texts {
		list = append(list, time.Duration(s))
	}
	return list
}

// attempts is a number of attempts, or "unlimited".
type attempts int

const unlimitedText = `"unlimited"`

func (a attempts) MarshalJSON() ([]byte, error) {
	if a == Unlimited {
		return []byte(unlimitedText), nil
	}
	return json.Marshal(int(a))
}

func (a *attempts) UnmarshalJSON(text []byte) error {
	if string(text) == unlimitedText {
		*a = Unlimited
		return nil
	}
	var n int
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf(`maxAttempts is %s; say a number, or "unlimited"`, text)
	}
	*a = attempts(n)
	return nil
}
