package faultsim

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/rerun"
)

// gather reads what all shards have found, and makes this run theirs.
func (c *check) gather() {
	c.t.Helper()
	all, err := c.shards()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	c.parts = all
	c.set.seed, c.set.trials, c.most, c.set.twice = all[0].Seed, all[0].Planned, all[0].Most, all[0].Twice
	if all[0].Campaign {
		c.campaign = newCampaign(io.Discard, 0)
	}
}

// merge reports what the shards have found as the run of one machine would have:
// the first failing trial, or of a campaign the first of each invariant. It plays
// those trials again here, so the report is of this code. Where none failed, it goes on
// as that machine would have, if required shares take more trials.
func (c *check) merge() {
	c.t.Helper()
	if err := c.prepare(); err != nil {
		c.t.Fatalf("%v", err)
	}
	c.adopt()
	for _, f := range c.ofOneMachine() {
		if !c.campaign.knows(f.Invariant) {
			c.playAgain(f)
		}
	}
	if n, r := c.further(); r != nil {
		c.failed(c.failure(n, r))
	}
	if c.campaign != nil {
		c.set.trials = 0
		for _, r := range c.parts {
			c.set.trials += r.Trials
		}
	}
}

// shards reads the files of this property, one of each shard.
func (c *check) shards() ([]*results, error) {
	all, err := readAllResults(c.set.merge)
	if err != nil {
		return nil, fmt.Errorf("-rehearse.merge: %w", err)
	}
	var own []*results
	for i := range all {
		if r := &all[i]; r.Test == c.name && samePackage(r.Package, rerun.ImportPath()) {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("-rehearse.merge=%s: none of its %d files of results (*%s) is of %s", c.set.merge, len(all), resultsSuffix, c.name)
	}
	return own, c.complete(own)
}

// samePackage compares import paths of which either may be unknown.
func samePackage(a, b string) bool { return a == "" || b == "" || a == b }

// complete reports what is missing of a run, or does not belong to it.
func (c *check) complete(own []*results) error {
	first := own[0]
	by := map[int]*results{} // a damaged number of shards may be any
	var errs []error
	for _, r := range own {
		switch {
		case r.Contract != c.contractHash():
			errs = append(errs, fmt.Errorf("%s was found under another contract, or with other rules: merge with the code and the version of rehearse that the shards ran", r.path))
		case len(r.Met.Rules) > len(c.invs):
			errs = append(errs, fmt.Errorf("%s counts %d rules, and there are %d: it is damaged: copy it again, or run its shard again", r.path, len(r.Met.Rules), len(c.invs)))
		case r.Seed != first.Seed, r.Planned != first.Planned, r.Most != first.Most, r.Twice != first.Twice, r.Shards != first.Shards, r.Campaign != first.Campaign:
			errs = append(errs, fmt.Errorf("%s and %s are of two runs, with other seeds, trials or shards: take the old one away", first.path, r.path))
		case r.Shard < 0 || r.Shard >= r.Shards:
			errs = append(errs, fmt.Errorf("%s is of shard %d of %d, which there is none: copy it again, or run its shard again", r.path, r.Shard, r.Shards))
		case r.gap() != "":
			errs = append(errs, fmt.Errorf("%s %s: it is damaged, or not of a whole run: copy it again, or run its shard again", r.path, r.gap()))
		case by[r.Shard] != nil:
			errs = append(errs, fmt.Errorf("%s and %s are both of shard %d: take the old one away", by[r.Shard].path, r.path, r.Shard))
		default:
			by[r.Shard] = r
		}
	}
	for i := 0; i < first.Shards && len(errs) == 0; i++ {
		if by[i] == nil {
			errs = append(errs, fmt.Errorf("-rehearse.merge=%s: there is nothing of shard %d of %d of %s: its run was killed, or failed by a saved case or before its first trial", c.set.merge, i, first.Shards, c.name))
		}
	}
	return errors.Join(errs...)
}

// adopt takes over all that the shards have met, and keeps the cases that they
// have found.
func (c *check) adopt() {
	c.t.Helper()
	for _, r := range c.parts {
		c.met.add(&r.Met)
		for _, name := range r.Accepted {
			c.seen.Store(name, true)
		}
		for _, f := range r.Failures {
			if err := f.keep(c.name); err != nil {
				c.t.Errorf("%s: the case of trial %d cannot be saved: %v", r.path, f.Trial+1, err)
			}
		}
	}
}

// keep saves the case, where there is one, as the shard would have saved it.
func (f *failedTrial) keep(test string) error {
	if f.Case == "" {
		return nil
	}
	k, err := parseCase(f.Case)
	if err != nil {
		return err
	}
	return kept.Save(k.file(test), f.Case)
}

// ofOneMachine lists the trials that one machine may have reported, in their order.
func (c *check) ofOneMachine() []failedTrial {
	var list []failedTrial
	for _, r := range c.parts {
		list = append(list, r.Failures...)
	}
	slices.SortFunc(list, func(a, b failedTrial) int { return a.Trial - b.Trial })
	if c.campaign == nil {
		return list[:min(1, len(list))]
	}
	return list
}

// playAgain plays a trial that failed in a shard, and reports it.
func (c *check) playAgain(f failedTrial) {
	c.t.Helper()
	if c.campaign != nil {
		c.set.trials = f.Trial + 1 // which find it again
	}
	s := c.draw(f.Trial)
	for range reruns {
		if r := c.onceMore(&s); f.shows(r) {
			r.lead(f.Invariant)
			c.failed(c.failure(f.Trial, r))
			return
		}
	}
	if seeded, _, ok := c.reseed(s, f.Invariant); ok { // other random numbers than those of the drawn trial
		if r := c.breaking(&seeded, f.Invariant); r != nil {
			c.failed(c.failure(f.Trial, r))
			return
		}
	}
	c.end("%s %s in its shard, and passes here, %d times: state between trials, a race, or other code\n%s\nrun it again: %s",
		c.origin(f.Trial), f.what(), reruns, indent("schedule", s.String()), c.rerun(true))
}

// onceMore plays a drawn trial as its shard has: where trials run twice, it does.
func (c *check) onceMore(s *Schedule) *result {
	r := c.shown(s)
	if c.set.twice && r.passes() {
		again := c.twice(s, *r, *c.shown(s), c.crowded)
		r = &again
	}
	return r
}

// shows reports whether the trial fails again as it did. One that cannot be judged, or
// whose two runs differ, breaks no invariant.
func (f *failedTrial) shows(r *result) bool {
	return r.err != nil || r.breaks(f.Invariant) || f.Invariant == "" && !r.passes()
}

func (f *failedTrial) what() string {
	if f.Invariant == "" {
		return "failed (" + f.Error + ")"
	}
	return "broke " + f.Invariant
}
