package faultsim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

func (s *Schedule) writeSpells(b *strings.Builder) {
	for _, o := range s.Outages {
		b.WriteString("outage " + wordText(o.Tool))
		option(b, "from", o.From)
		option(b, "to", o.To)
		fmt.Fprintf(b, " %v\n", o.Class)
	}
	for _, q := range s.Quotas {
		fmt.Fprintf(b, "quota %s %d", wordText(q.Tool), q.N)
		option(b, "per", q.Per)
		b.WriteString("\n")
	}
	for _, k := range s.Buckets {
		fmt.Fprintf(b, "bucket %s %d", wordText(k.Tool), k.Burst)
		option(b, "every", k.Every)
		b.WriteString("\n")
	}
	if s.Jitter != JitterLoose {
		b.WriteString("jitter " + string(s.Jitter) + "\n")
	}
	if s.Seed != 0 {
		fmt.Fprintf(b, "seed %d\n", s.Seed)
	}
	for _, tool := range s.Serial {
		b.WriteString("serial " + wordText(tool) + "\n")
	}
	for _, at := range s.Expiries {
		b.WriteString("expiry")
		option(b, "at", at)
		b.WriteString("\n")
	}
	if s.Calm != 0 {
		b.WriteString("calm")
		option(b, "at", s.Calm)
		b.WriteString("\n")
	}
}

// jitter reads "jitter least" and "jitter greatest".
func (p *parser) jitter(words []string) error {
	switch {
	case len(words) != 2 || !slices.Contains(jitterPins[1:], JitterPin(words[1])):
		return p.errorf("pinned jitter reads jitter least or jitter greatest")
	case p.s.Jitter != JitterLoose:
		return p.errorf("jitter is pinned twice: take one out")
	}
	p.s.Jitter = JitterPin(words[1])
	return nil
}

// seed reads "seed N".
func (p *parser) seed(words []string) error {
	if len(words) != 2 {
		return p.errorf("a seed of random numbers reads seed N, such as %q", "seed 7")
	}
	n, err := strconv.ParseUint(words[1], 10, 64)
	switch {
	case err != nil:
		return p.errorf("seed %q is no whole number up to %d", words[1], uint64(math.MaxUint64))
	case n == 0:
		return p.errorf("seed 0 is the usual one: take the line out")
	case p.s.Seed != 0:
		return p.errorf("the seed is given twice: take one out")
	}
	p.s.Seed = n
	return nil
}

// serial reads "serial TOOL".
func (p *parser) serial(words []string) error {
	if len(words) != 2 {
		return p.errorf("a tool that serves one call at a time reads serial TOOL, such as %q", "serial weather")
	}
	if slices.Contains(p.s.Serial, words[1]) {
		return p.errorf("%s is serial twice: take one out", words[1])
	}
	p.s.Serial = append(p.s.Serial, words[1])
	return nil
}

// expiry reads "expiry at=".
func (p *parser) expiry(words []string) error {
	if len(words) != 2 {
		return p.errorf("an expiry of credentials reads expiry at=, such as %q", "expiry at=1.5s")
	}
	return p.options(words[1:], func(name, value string) error {
		if name != "at" {
			return fmt.Errorf("unknown option %q of an expiry; known is at=", name)
		}
		at, err := positive(name, value)
		p.s.Expiries = append(p.s.Expiries, at)
		return err
	})
}

// outage reads "outage TOOL from= to= CLASS"; from= may be missing.
func (p *parser) outage(words []string) error {
	if len(words) < 4 {
		return p.errorf("an outage reads outage TOOL from= to= CLASS, such as %q", "outage weather from=1s to=3s transient")
	}
	o, last := Outage{Tool: words[1]}, len(words)-1
	if err := o.Class.UnmarshalText([]byte(words[last])); err != nil || o.Class == trace.OK {
		return p.errorf("unknown class %q; an outage ends in one of %v", words[last], trace.Classes()[1:])
	}
	err := p.options(words[2:last], func(name, value string) (err error) {
		switch name {
		case "from":
			o.From, err = positive(name, value)
		case "to":
			o.To, err = positive(name, value)
		default:
			err = fmt.Errorf("unknown option %q of an outage; known are from=, to=", name)
		}
		return err
	})
	if err == nil && o.To <= o.From {
		err = p.errorf("the outage does not end after it begins: give it a to= after its from=")
	}
	p.s.Outages = append(p.s.Outages, o)
	return err
}

// quota reads "quota TOOL N per=".
func (p *parser) quota(words []string) error {
	if len(words) != 4 {
		return p.errorf("a quota reads quota TOOL N per=, such as %q", "quota weather 3 per=1m")
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || n > maxAttempt {
		return p.errorf("the quota %q is no number from 1 to %d", words[2], maxAttempt)
	}
	q := Quota{Tool: words[1], N: n}
	err = p.options(words[3:], func(name, value string) (err error) {
		if name != "per" {
			return fmt.Errorf("unknown option %q of a quota; known is per=", name)
		}
		q.Per, err = positive(name, value)
		if d, wrong := time.ParseDuration(value); wrong == nil && d == 0 { // without it there is no quota
			err = fmt.Errorf("per=%s is no window: say how long a quota holds, such as per=1m", value)
		}
		return err
	})
	p.s.Quotas = append(p.s.Quotas, q)
	return err
}
