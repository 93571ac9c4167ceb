package faultsim

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/invariants"
)

// Hit tells that the code under test answers a call of the tool without making
// it: from its cache, or with the answer to a request that another action had
// under way. Call it where the answer is served, with the arguments that the
// call would have sent, and the result or the error that is served:
//
//	if f, ok := c.kept(q); ok {
//		s.Hit(ctx, "weather", q, f, nil)
//		return f, nil
//	}
//
// A hit is no attempt. A success that is served is evidence of the action's
// success, unless its policy is that of a write.
func (s *Stage) Hit(ctx context.Context, tool string, args, result any, err error) {
	if ctx == nil {
		s.misused(fmt.Errorf("faultsim: Stage.Hit of %q was given a nil context: hand the caller's context on", tool))
		return
	}
	if s.gone() {
		_ = s.buried()
		return
	}
	t := s.toolNamed(tool)
	if t == nil {
		return
	}
	a := s.hit(s.rec.Hit(s.member.owns(ctx), tool, args, result, err))
	if a == nil {
		return
	}
	if s.spins(a) {
		select {} // nothing else stops such a loop
	}
	if err == nil {
		s.answered(a, answer{of: reflect.TypeOf(result), raw: double.JSON(result)}, callError{})
	}
}

// toolNamed is the tool of the name; where there is none it notes the misuse.
func (s *Stage) toolNamed(name string) *tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.lookup(name)
	if t == nil || name == Main {
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Hit speaks of tool %q, the stage has %s: correct the name", name, s.names()))
		return nil
	}
	return t
}

// hit counts a hit of the action with the number, which is no call and can go
// on without end as calls can.
func (s *Stage) hit(number int) *act {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.act(number)
	if a == nil {
		return nil
	}
	if a.counts(s) {
		s.spin(a)
	}
	return a
}

// caches reports a cache of a tool that is not on the stage; nil: none.
func (s *Stage) caches(c *invariants.Cache) error {
	if c == nil || c.Tool == "" {
		return nil
	}
	if c.Tool == Main || s.lookup(c.Tool) == nil {
		return fmt.Errorf("faultsim: cache: Tool is %q, the stage has %s: correct the name, or leave it empty", c.Tool, s.names())
	}
	return nil
}

// validateCache reports what makes the contract unusable.
func (a *Adapter) validateCache() error {
	if a.Cache == nil {
		return nil
	}
	if err := a.Cache.Validate(); err != nil {
		return fmt.Errorf("adapter %q: %w", a.Name, err)
	}
	if d := max(a.Cache.TTL, a.Cache.FailureTTL); d >= longestTime/2 {
		return fmt.Errorf("adapter %q: cache: TTL or FailureTTL is %v: a trial plays half a year at most; leave TTL 0 where answers are kept for good", a.Name, d)
	}
	return nil
}

// lookups puts, half of the time, further actions behind those of a schedule, so
// that what a cache has kept is asked for: at once, and with pauses around the
// times for which it may be served. It comes last, so that no other draw depends
// on it.
func (d *drawer) lookups(t *source, s *Schedule) {
	if d.cache == nil || d.single || !coin(t) {
		return
	}
	for range 1 + below(t, 2) {
		s.Actions = append(s.Actions, Plan{Faults: map[string][]Fault{}})
	}
	for i := range s.Actions[1:] {
		s.Actions[i+1].After = d.kept(t)
	}
}

// kept is a pause around the times of the cache. Its odd nanoseconds keep it off
// their very instants.
func (d *drawer) kept(t *source) time.Duration {
	ttl := []time.Duration{0, d.cache.FailureTTL, d.cache.TTL}[below(t, 3)]
	return max(0, ttl+[...]time.Duration{0, -time.Second, time.Second, ttl}[below(t, 4)]).Truncate(10)
}
