package faultsim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/rerun"
	"github.com/rehearse-go/rehearse/internal/setting"
)

const (
	resultsFormat = "rehearse results 1"
	resultsSuffix = ".rehearse.json"
)

// results are what one run of a property has come to, as a file that can be
// copied from machine to machine: with those of the other shards it is what one
// machine would have found.
type results struct {
	Format   string        `json:"format"`
	Package  string        `json:"package,omitzero"` // import path; empty: not known to the binary
	Test     string        `json:"test"`
	Contract string        `json:"contract"` // a hash of all that is declared
	Seed     uint64        `json:"seed"`
	Planned  int           `json:"planned,omitzero"` // trials of all shards; 0: a time
	Most     int           `json:"most,omitzero"`    // trials, where required shares take more; 0: the number was asked for
	Twice    bool          `json:"twice,omitzero"`   // each trial
	Campaign bool          `json:"campaign,omitzero"`
	Shard    int           `json:"shard"` // from 0
	Shards   int           `json:"shards"`
	Trials   int           `json:"trials"`         // done by this shard
	Ended    string        `json:"ended,omitzero"` // of a campaign: why
	Failures []failedTrial `json:"failures"`       // in the order of their trials
	Accepted []string      `json:"accepted"`       // accepted deviations that have occurred
	Met      tally         `json:"met"`
	path     string        // that it was read from
}

// A failedTrial is one of the trials that a run reports.
type failedTrial struct {
	Trial     int    `json:"trial"` // from 0
	Invariant string `json:"invariant,omitzero"`
	Error     string `json:"error,omitzero"` // of a trial that cannot be judged
	File      string `json:"file,omitzero"`  // where its case belongs, below the package
	Case      string `json:"case,omitzero"`  // the content of that file
	saved     bool   // there
}

// fails writes a failing trial into the book.
func (b *results) fails(f *failure) {
	failed := failedTrial{Trial: f.n}
	switch {
	case f.r.err != nil:
		failed.Error, _, _ = strings.Cut(f.r.err.Error(), "\n")
	case f.r.other != nil:
		failed.Error = "two runs of the trial differ: " + f.r.other.String()
	default:
		failed.Invariant = f.r.found[0].Invariant
	}
	b.Failures = append(b.Failures, failed)
}

// forget takes back the last failing trial, which has been told before.
func (b *results) forget() { b.Failures = b.Failures[:len(b.Failures)-1] }

// saves adds the case to the failing trial that it was made of. A case that was
// replayed is not of a trial.
func (b *results) saves(k *savedCase, test, headline string, saved bool) {
	if k.path != "" || len(b.Failures) == 0 {
		return
	}
	last := &b.Failures[len(b.Failures)-1]
	last.saved = saved
	last.File, last.Case = filepath.ToSlash(k.file(test)), k.text(test, headline)
}

// readResults is the folder for results: the setting, or where Bazel collects what
// a test leaves behind.
func readResults() (string, error) {
	folder, _, err := settingResults.Read()
	bazel := os.Getenv(bazelOutputs)
	return cmp.Or(folder, bazel), err
}

const bazelOutputs = "TEST_UNDECLARED_OUTPUTS_DIR"

// resultsAsked is who has asked for results, as it is written.
func resultsAsked() string {
	switch folder, from, _ := settingResults.Read(); {
	case folder == "":
		return bazelOutputs
	case from == setting.Flag:
		return "-" + settingResults.Flag
	}
	return settingResults.Variable
}

// publish writes the book into the folder for results, where there is one.
func (c *check) publish() {
	c.t.Helper()
	if c.set.results == "" || c.set.merge != "" {
		return
	}
	b := &c.book
	b.Format, b.Package, b.Test, b.Contract = resultsFormat, rerun.ImportPath(), c.name, c.contractHash()
	b.Seed, b.Shard, b.Shards = c.set.seed, c.set.shard.index, max(1, c.set.shard.of)
	b.Planned, b.Most, b.Twice, b.Campaign = c.set.trials, c.most, c.set.twice, c.campaign != nil
	if b.Campaign {
		b.Planned = c.set.length.trials
	}
	b.Met, b.Accepted = c.met, c.occurred()
	content, err := json.MarshalIndent(b, "", "\t")
	if err == nil {
		err = kept.Save(filepath.Join(c.set.results, b.file()), string(content)+"\n")
	}
	if err != nil {
		c.t.Errorf("%s=%q: the results of this run cannot be written there, and are in this log only (%v): give a folder that can be made and written into", resultsAsked(), c.set.results, err)
	}
}

// file is the name of the results' file. Those of other packages, tests and shards
// have other names.
func (b *results) file() string {
	owner := cmp.Or(b.Package, os.Getenv("TEST_TARGET")) + "." + b.Test
	return fmt.Sprintf("%s.%d-of-%d%s", kept.Safe(strings.TrimPrefix(owner, ".")), b.Shard, b.Shards, resultsSuffix)
}

// contractHash tells contracts apart. The names of the rules belong to it, those of
// [Adapter].Invariants included: a tally counts them by their number.
func (c *check) contractHash() string {
	return kept.Hash(strings.Join(append([]string{c.a.Name, string(c.content), string(c.beside)}, c.names()...), "\n"))
}

// occurred lists the accepted deviations that have.
func (c *check) occurred() []string {
	seen := map[string]bool{}
	c.seen.Range(func(name, _ any) bool { seen[name.(string)] = true; return true })
	return slices.Sorted(maps.Keys(seen))
}

// gap says what the run has not played of its trials; empty: nothing. A failing trial
// ends a run, and a campaign ends when it is told to.
func (r *results) gap() string {
	switch own := (shard{r.Shard, r.Shards}).count(r.Planned); {
	case r.Trials < 0 || r.Met.Trials < 0:
		return fmt.Sprintf("has %d trials", min(r.Trials, r.Met.Trials))
	case slices.Contains(r.Met.Doubles, nil):
		return "counts a double that is null"
	case !r.Campaign && len(r.Failures) == 0 && r.Trials != own:
		return fmt.Sprintf("has %d trials of the %d of its shard, and none that failed", r.Trials, own)
	}
	return ""
}

// readAllResults reads the files of results below a folder, at any depth.
func readAllResults(folder string) ([]results, error) {
	var list []results
	if _, err := os.Stat(kept.Path(folder)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it, and copy the files of results of all shards into it", folder)
	}
	err := filepath.WalkDir(kept.Path(folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, resultsSuffix) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r := results{path: path}
		if err := json.Unmarshal(content, &r); err != nil {
			return fmt.Errorf("%s is damaged (%w): copy it again, or run its shard again", path, err)
		}
		if r.Format != resultsFormat {
			return fmt.Errorf("%s: the format is %q, not %q: it was written by another version", path, r.Format, resultsFormat)
		}
		list = append(list, r)
		return nil
	})
	return list, err
}
