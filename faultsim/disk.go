package faultsim

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// A Disk is what outlives a crash of the code under test: a durable store of
// bytes under keys, which begins empty in each trial. A change is durable when
// the call that makes it has returned. It takes no time, and it does not fail,
// apart from a context that has ended. Its methods may be called by several
// goroutines at once.
type Disk struct{ s *Stage }

// Disk is the trial's durable store. Code that Resume builds after a crash
// finds in it what the code before has written.
func (s *Stage) Disk() *Disk { return &Disk{s} }

// Put stores a copy of the value under the key, in place of what was there.
func (d *Disk) Put(ctx context.Context, key string, value []byte) error {
	value = bytes.Clone(value)
	return d.write(ctx, func(content map[string][]byte) { content[key] = value })
}

// Delete removes the key, which need not be there.
func (d *Disk) Delete(ctx context.Context, key string) error {
	return d.write(ctx, func(content map[string][]byte) { delete(content, key) })
}

// Get returns a copy of the value under the key. Where there is none the error
// is [fs.ErrNotExist], wrapped.
func (d *Disk) Get(ctx context.Context, key string) ([]byte, error) {
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	value, ok := d.s.disk[key]
	if !ok {
		return nil, fmt.Errorf("disk: %q: %w", key, fs.ErrNotExist)
	}
	return slices.Clone(value), nil
}

// List returns the keys that begin with the prefix, in order.
func (d *Disk) List(ctx context.Context, prefix string) ([]string, error) {
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(d.s.disk))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) }), nil
}

// usable reports why the disk cannot be used; nil: it can.
func (d *Disk) usable(ctx context.Context) error {
	if d.s.gone() {
		return d.s.buried()
	}
	return ctx.Err()
}

// write makes one change, unless the process dies before.
func (d *Disk) write(ctx context.Context, change func(map[string][]byte)) error {
	if err := d.usable(ctx); err != nil {
		return err
	}
	if d.s.written(change) {
		return d.s.buried()
	}
	return nil
}

// written makes the change and reports whether the process has died of it.
func (s *Stage) written(change func(map[string][]byte)) (died bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return true
	}
	a := s.running()
	if a != nil {
		a.writes++
	}
	if s.climate.calms() {
		a = nil // nothing crashes any more
	}
	if a != nil && a.plan.CrashBeforeWrite == a.writes && s.crash(a, a.writes, fmt.Sprintf("before write %d is durable", a.writes)) {
		return true
	}
	if s.disk == nil {
		s.disk = map[string][]byte{}
	}
	change(s.disk)
	return a != nil && a.plan.CrashAfterWrite == a.writes && s.crash(a, a.writes, fmt.Sprintf("after write %d is durable", a.writes))
}

// running is the action that is under way; nil: there is none. A crash is
// planned only where actions run one after another.
func (s *Stage) running() *act {
	if n := len(s.acts); n > 0 && !s.acts[n-1].ended {
		return s.acts[n-1]
	}
	return nil
}

// Done reports whether the tool has done the work of the key, in whichever life
// of the code under test: what a double answers that is asked what became of an
// attempt. Without a key in the policy it knows of none.
func (s *Stage) Done(tool, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, done := s.ledger.results[ledgerKey{tool, key}]
	return done
}
