package zoo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects of a search, which may find nothing.
func empties() []Specimen {
	return []Specimen{
		{"nothing-found-asked-again", "A search that finds nothing counts as one that failed, and is made until its attempts are used up.",
			handling, "stop-after-success", searching(func(ctx context.Context, find search) ([]string, error) {
				return patientSearch(ctx, find, func(hits []string) error {
					if len(hits) == 0 {
						return fmt.Errorf("no hits: %w", errUnavailable)
					}
					return nil
				})
			})},
		{"nothing-found-made-up", "Where a search finds nothing a usual hit is put in, so that the model has something.",
			handling, "honest-ending", searching(func(ctx context.Context, find search) ([]string, error) {
				hits, err := patientSearch(ctx, find, takes)
				if err == nil && len(hits) == 0 {
					hits = []string{"getting-started"}
				}
				return hits, err
			})},
		{"nothing-found-as-an-error", "A search that finds nothing ends as a failure of the tool.",
			handling, "honest-ending", searching(func(ctx context.Context, find search) ([]string, error) {
				hits, err := patientSearch(ctx, find, takes)
				if err == nil && len(hits) == 0 {
					err = errors.New("the search failed")
				}
				return hits, err
			})},
	}
}

type (
	terms  struct{ Words string }
	search = func(context.Context, terms) ([]string, error)
)

// searching plugs in an agent that searches.
func searching(agent func(context.Context, search) ([]string, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "search", Policy: policy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			errs := failures()
			errs[trace.OK] = faultsim.Value([]string{})
			find := faultsim.Tool(s, "search", func(context.Context, terms) ([]string, error) { return []string{"retries", "timeouts"}, nil }, errs)
			return func(ctx context.Context) (any, error) { return agent(ctx, find) }
		},
	}
}

// findsNothing takes what the search finds, also where that is nothing.
func findsNothing(ctx context.Context, find search) ([]string, error) {
	return patientSearch(ctx, find, takes)
}

func takes([]string) error { return nil }

// patientSearch is the right loop around a reading of the hits.
func patientSearch(ctx context.Context, find search, read func([]string) error) ([]string, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hits, err := searchOnce(ctx, find)
		if err == nil {
			err = read(hits)
		}
		if err == nil {
			return hits, nil
		}
		if n == attempts || final(ctx, err) {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

func searchOnce(ctx context.Context, find search) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return find(ctx, terms{"backoff"})
}
