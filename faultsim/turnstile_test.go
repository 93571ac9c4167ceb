package faultsim

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// oncePolicy is that of code which makes each call once.
func oncePolicy() invariants.Policy {
	return invariants.Policy{ID: "once/v1", MaxAttempts: 1, Repeatable: true}
}

// twoAtOnce asks for two cities side by side, and hands on both failures.
func twoAtOnce(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return both(func(city string) error { _, err := tool(ctx, city); return err })
}

func both(ask func(city string) error) (any, error) {
	var errs [2]error
	var wg sync.WaitGroup
	for i, city := range []string{"Pune", "Oslo"} {
		wg.Go(func() { errs[i] = ask(city) })
	}
	wg.Wait()
	return nil, errors.Join(errs[:]...)
}

// ownBranch makes one of the two calls in the goroutine of the action.
func ownBranch(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	other := make(chan error, 1)
	go func() {
		_, err := tool(ctx, "Pune")
		other <- err
	}()
	_, err := tool(ctx, "Oslo")
	return nil, errors.Join(err, <-other)
}

func TestCallsSideBySideAreNoRetryOfEachOther(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Stage, trace.Func[string, int]) (any, error){
		"a goroutine for each": twoAtOnce, "the action's own goroutine makes one": ownBranch,
	} {
		t.Run(name, func(t *testing.T) {
			a := subjectAdapter(run)
			a.Policy = oncePolicy()
			for _, s := range []Schedule{One(Fail(trace.Transient)), One(Fault{}, Fail(trace.Transient)), One(Fail(trace.Transient), Fail(trace.Transient))} {
				for range 20 {
					r := Trial(t, a, s)
					require.NoError(t, r.Err)
					require.Empty(t, r.Findings, "%s", r.Trace.Timeline())
				}
			}
		})
	}
}

func TestRequestsSideBySideAreNoRetryOfEachOther(t *testing.T) {
	a := Adapter{Name: "two pages", Policy: oncePolicy(), Subject: func(s *Stage) Action {
		client := s.Client(Route{Tool: "pages"})
		return func(ctx context.Context) (any, error) {
			return both(func(city string) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pages.test/"+city, nil)
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return errors.New(resp.Status)
				}
				return nil
			})
		}
	}}
	r := Trial(t, a, One(Fail(trace.Transient)))
	require.NoError(t, r.Err)
	assert.Empty(t, r.Findings, "%s", r.Trace.Timeline())
}

// What follows an answer in the same goroutine is a retry all the same.
func TestARetryAtOnceIsSeenBesideOtherCalls(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
		return both(func(city string) error {
			_, err := tool(ctx, city)
			if err != nil {
				_, err = tool(ctx, city)
			}
			return err
		})
	})
	a.Policy = oncePolicy()
	r := Trial(t, a, One(Fail(trace.Transient)))
	require.NoError(t, r.Err)
	assert.Contains(t, names(r.Findings), "attempts-bounded")
}

func TestATurnstileMovesNoTimeAndLetsOneCallGoOnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g turnstile
		var wg sync.WaitGroup
		begun, inside := time.Now(), 0
		arrived := make(chan struct{}, 3)
		for range 3 {
			wg.Go(func() {
				arrived <- struct{}{}
				g.pass()
				assert.Len(t, arrived, 3, "all are there before the first goes on")
				inside++ // what one does before it blocks, the next finds done
			})
		}
		wg.Wait()
		assert.Equal(t, 3, inside)
		assert.Equal(t, begun, time.Now())
	})
}

// synctest lets one goroutine wait at a time: a program that waits so itself is not
// disturbed, and the call is answered without.
func TestATurnstileGivesWayToTheProgramsOwnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passed, free := false, make(chan struct{})
		go func() {
			<-free
			new(turnstile).pass()
			passed = true
		}()
		go close(free)
		synctest.Wait()
		assert.True(t, passed)
	})
}

// A call from outside the bubble has nothing to wait for.
func TestATurnstileLetsThroughWhoIsInNoBubble(t *testing.T) {
	var g turnstile
	g.pass()
	g.pass()
}
