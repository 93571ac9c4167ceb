package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rehearse-go/rehearse/internal/kept"
)

// results are what samples came to when somebody accepted them: what each variant
// was and declared, and how many samples passed in each row. It is a text of JSON
// Lines that a reviewer reads in a diff.
//
//	{"rehearse":"samples","schema":1}
//	{"variant":"model-a","version":"2026-10","policy":{"id":"weather/v1",…}}
//	{"scenario":"throttled","variant":"model-a","check":"asked for the city","passed":18,"of":20}
type results struct {
	variants []variantLine
	rates    []rateLine
}

// resultsSchema is the version of the file's format.
const resultsSchema = 1

type headerLine struct {
	Rehearse string `json:"rehearse"`
	Schema   int    `json:"schema"`
}

type variantLine struct {
	Variant string          `json:"variant"`
	Version string          `json:"version,omitempty"`
	Policy  json.RawMessage `json:"policy"`
	Beside  json.RawMessage `json:"beside,omitempty"`
}

type rateLine struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Check    string `json:"check"`
	Passed   int    `json:"passed"`
	Of       int    `json:"of"`
}

func (r *rateLine) rate() Rate { return Rate{r.Passed, r.Of} }

// resultsFile is where the results of a test are kept.
func resultsFile(test string) string { return filepath.Join(kept.Dir(test), "samples.baseline") }

// results are what the samples came to now.
func (p *player) results() results {
	var r results
	for i := range p.Variants {
		c := &p.contracts[i]
		r.variants = append(r.variants, variantLine{p.Variants[i].Name, p.Variants[i].Version, c.Policy.Content(), c.Content()})
	}
	for i := range p.sampled.Cells {
		c := &p.sampled.Cells[i]
		r.rates = append(r.rates, rateLine{c.Scenario, c.Variant, hardRules, c.Kept.Passed, c.Kept.Of})
		for j := range c.Checks {
			k := &c.Checks[j]
			r.rates = append(r.rates, rateLine{c.Scenario, c.Variant, k.Name, k.Rate.Passed, k.Rate.Of})
		}
	}
	return r
}

// variant is the line of a variant; nil: there is none.
func (r *results) variant(name string) *variantLine {
	for i := range r.variants {
		if r.variants[i].Variant == name {
			return &r.variants[i]
		}
	}
	return nil
}

// row is the line of a check; nil: there is none.
func (r *results) row(scenario, variant, check string) *rateLine {
	for i := range r.rates {
		if l := &r.rates[i]; l.Scenario == scenario && l.Variant == variant && l.Check == check {
			return l
		}
	}
	return nil
}

func (r *results) String() string {
	var b strings.Builder
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false) // people read it
	must := func(line any) {
		if err := w.Encode(line); err != nil {
			panic(err) // only of values that JSON does not have
		}
	}
	must(headerLine{"samples", resultsSchema})
	for _, v := range r.variants {
		must(v)
	}
	for _, l := range r.rates {
		must(l)
	}
	return b.String()
}

// parseResults reads what String writes. It believes nothing that it does not know.
func parseResults(text string) (r results, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		switch {
		case n == 1:
			err = parseHeader(line)
		case strings.TrimSpace(line) != "":
			err = r.parse(line)
		}
		if err != nil {
			return r, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if n == 0 {
		return r, errors.New("the file is empty")
	}
	return r, nil
}

func parseHeader(line string) error {
	var h headerLine
	if err := strict(line, &h); err != nil || h.Rehearse != "samples" {
		return fmt.Errorf("%q is not %s: this is another file", strings.TrimSpace(line), `{"rehearse":"samples","schema":1}`)
	}
	if h.Schema != resultsSchema {
		return fmt.Errorf("schema is %d, and this version reads %d", h.Schema, resultsSchema)
	}
	return nil
}

// parse reads a line behind the header: of a variant, or of a row.
func (r *results) parse(line string) error {
	if strings.HasPrefix(line, `{"variant":`) {
		var v variantLine
		if err := strict(line, &v); err != nil {
			return err
		}
		if v.Variant == "" || len(v.Policy) == 0 {
			return errors.New("a variant needs a name and a policy")
		}
		if r.variant(v.Variant) != nil {
			return fmt.Errorf("variant %q has a line before", v.Variant)
		}
		r.variants = append(r.variants, v)
		return nil
	}
	var l rateLine
	if err := strict(line, &l); err != nil {
		return err
	}
	switch {
	case l.Scenario == "" || l.Check == "":
		return errors.New("a row needs a scenario and a check")
	case r.variant(l.Variant) == nil:
		return fmt.Errorf("variant %q has no line of its own before", l.Variant)
	case !l.rate().known():
		return fmt.Errorf("%d of %d cannot have passed", l.Passed, l.Of)
	case r.row(l.Scenario, l.Variant, l.Check) != nil:
		return errors.New("this row has a line before")
	}
	r.rates = append(r.rates, l)
	return nil
}

// strict reads one JSON value, all of whose fields must be known.
func strict(line string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is something behind the closing brace")
	}
	return nil
}
