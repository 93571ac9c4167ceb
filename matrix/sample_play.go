package matrix

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A player plays and judges samples.
type player struct {
	Samples
	contracts []invariants.Contract // of each variant
	sampled   Sampled
	applied   map[string]int // how often each rule of Hard could have been broken
	frozen    bool           // virtual time stands still in a sample
}

// A sampling is one sample and what was found in it.
type sampling struct {
	tr              *trace.Trace
	found, accepted []invariants.Finding
}

// player looks at what is to be sampled, and plays nothing yet.
func (s Samples) player(t *testing.T) (*player, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if s.Confidence == 0 {
		s.Confidence = usualConfidence
	}
	p := &player{Samples: s, sampled: Sampled{Confidence: s.Confidence}, applied: map[string]int{}}
	var errs []error
	for i := range s.Variants {
		c, err := s.Variants[i].inspect(t)
		p.contracts = append(p.contracts, c)
		errs = append(errs, err, p.validateHard(&s.Variants[i], c))
	}
	return p, errors.Join(append(errs, p.oneContractPerID())...)
}

// inspect returns what the variant promises.
func (v *Variant) inspect(t *testing.T) (invariants.Contract, error) {
	if v.Recorded != nil {
		return v.Contract, nil
	}
	a, err := v.adapter(1)
	if err != nil {
		return invariants.Contract{}, err
	}
	if a.Repeats != nil {
		return invariants.Contract{}, fmt.Errorf("matrix: the Adapter of variant %q is of a tool (faultsim.Served): sample the code that calls tools, and hold a tool to matrix.Run", v.Name)
	}
	if _, _, err := faultsim.Tools(t, a); err != nil {
		return invariants.Contract{}, fmt.Errorf("matrix: the Adapter of variant %q for sample #1: %w", v.Name, err)
	}
	return a.Contract(), nil
}

// adapter calls the user's factory, whose panic is an error of the variant.
func (v *Variant) adapter(sample int) (a faultsim.Adapter, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("matrix: the Adapter of variant %q panicked for sample #%d: %v", v.Name, sample, p)
		}
	}()
	return v.Adapter(sample), nil
}

// oneContractPerID reports variants that promise different things under one name:
// whoever reads their rates would compare what is not alike.
func (p *player) oneContractPerID() error {
	first := map[string]int{}
	for i := range p.contracts {
		c := &p.contracts[i]
		j, ok := first[c.Policy.ID]
		if !ok {
			first[c.Policy.ID] = i
			continue
		}
		o := &p.contracts[j]
		if !same(c.Policy.Content(), o.Policy.Content()) || !same(c.Content(), o.Content()) {
			return fmt.Errorf("matrix: policy-changed: variants %q and %q declare different contracts under the same policy ID %q: give one of the policies an ID of its own", p.Variants[j].Name, p.Variants[i].Name, c.Policy.ID)
		}
	}
	return nil
}

// cell plays and judges one variant in one scenario.
func (p *player) cell(t *testing.T, scenario, variant int) (*Cell, error) {
	sc, v := &p.Scenarios[scenario], &p.Variants[variant]
	if p.frozen {
		return nil, fmt.Errorf("matrix: not run, since virtual time stands still in a sample before it")
	}
	samples, err := p.sampleAll(t, sc, v, p.contracts[variant])
	if err != nil {
		return nil, err
	}
	c := Cell{Scenario: sc.Name, Variant: v.Name, Version: v.Version, Policy: p.contracts[variant].Policy.ID, schedule: &sc.Schedule, recorded: v.Recorded != nil}
	for i := range samples {
		c.count(i+1, &samples[i])
	}
	for i := range p.Soft {
		if !p.Soft[i].appliesTo(sc.Name) {
			continue
		}
		k, err := p.Soft[i].check(samples, p.Confidence)
		if err != nil {
			return nil, fmt.Errorf("%w of %s", err, c.name())
		}
		c.Checks = append(c.Checks, k)
	}
	p.sampled.Cells = append(p.sampled.Cells, c)
	return &c, nil
}

// check counts the samples that pass.
func (s *Soft) check(samples []sampling, confidence float64) (Check, error) {
	k := Check{Name: s.Name, AtLeast: s.AtLeast, Rate: Rate{Of: len(samples)}}
	for i := range samples {
		passed, err := s.pass(i+1, samples[i].tr)
		switch {
		case err != nil:
			return k, err
		case passed:
			k.Rate.Passed++
		case k.Failed == 0:
			k.Failed, k.Trace = i+1, samples[i].tr
		}
	}
	k.Verdict = k.Rate.Decide(s.AtLeast, confidence)
	return k, nil
}

// pass calls Pass, whose panic is an error of the check.
func (s *Soft) pass(sample int, tr *trace.Trace) (passed bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("matrix: Pass of Soft %q panicked: %v: it must be able to read every trace, also one without attempts, at sample #%d", s.Name, p, sample)
		}
	}()
	return s.Pass(tr), nil
}

// sampleAll returns the judged samples, in the order of their numbers.
func (p *player) sampleAll(t *testing.T, sc *Scenario, v *Variant, c invariants.Contract) ([]sampling, error) {
	if v.Recorded == nil {
		return p.play(t, sc, v, c)
	}
	samples := make([]sampling, len(v.Recorded[sc.Name]))
	for i, tr := range v.Recorded[sc.Name] {
		samples[i].tr = tr
		found, err := p.find(tr, p.rulesOfRecorded(c))
		if err != nil {
			return nil, fmt.Errorf("%w, at sample #%d of variant %q in scenario %q", err, i+1, v.Name, sc.Name)
		}
		samples[i].found = found
	}
	return samples, nil
}

// play plays N samples on all cores.
func (p *player) play(t *testing.T, sc *Scenario, v *Variant, c invariants.Contract) ([]sampling, error) {
	adapters, err := v.adapters(p.N)
	if err != nil {
		return nil, err
	}
	results := make([]faultsim.Result, p.N)
	workers := min(runtime.GOMAXPROCS(0), p.N)
	if slices.ContainsFunc(adapters, func(a faultsim.Adapter) bool { return a.Serial }) {
		workers = 1
	}
	var next atomic.Int64
	var stopped atomic.Bool // a sample could not be played
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < p.N && !stopped.Load(); i = int(next.Add(1)) - 1 {
				if results[i] = faultsim.Trial(t, adapters[i], sc.Schedule); results[i].Err != nil {
					stopped.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return p.judge(sc, v, c, adapters, results)
}

// adapters makes the adapter of each sample.
func (v *Variant) adapters(n int) ([]faultsim.Adapter, error) {
	list := make([]faultsim.Adapter, n)
	promised := ""
	for i := range list {
		var err error
		if list[i], err = v.adapter(i + 1); err != nil {
			return nil, err
		}
		list[i].Unseeded = true // samples are independent of each other
		if i == 0 {
			promised = promise(&list[0])
		}
		if promise(&list[i]) != promised {
			return nil, fmt.Errorf("matrix: the Adapter of variant %q declares another contract for sample #%d than for #1: what is promised must not depend on the sample", v.Name, i+1)
		}
	}
	return list, nil
}

// judge reads what was played. The first sample that could not be played is told;
// numbers are handed out in order, so that all before it were.
func (p *player) judge(sc *Scenario, v *Variant, c invariants.Contract, adapters []faultsim.Adapter, results []faultsim.Result) ([]sampling, error) {
	samples := make([]sampling, len(results))
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			_, p.frozen = errors.AsType[*faultsim.FrozenError](r.Err)
			return nil, fmt.Errorf("matrix: sample #%d of variant %q could not be played in scenario %q: %w", i+1, v.Name, sc.Name, r.Err)
		}
		samples[i] = sampling{r.Trace, r.Findings, r.Accepted}
		if p.Hard == nil {
			continue
		}
		found, err := p.find(r.Trace, slices.Concat(p.rules(c), adapters[i].Invariants))
		if err != nil {
			return nil, fmt.Errorf("%w, at sample #%d of variant %q in scenario %q", err, i+1, v.Name, sc.Name)
		}
		samples[i].found, samples[i].accepted = apart(found, adapters[i].Accept)
	}
	return samples, nil
}

// apart puts the findings of accepted rules apart.
func apart(all []invariants.Finding, accept map[string]string) (found, accepted []invariants.Finding) {
	for _, f := range all {
		if _, ok := accept[f.Invariant]; ok {
			accepted = append(accepted, f)
		} else {
			found = append(found, f)
		}
	}
	return found, accepted
}
