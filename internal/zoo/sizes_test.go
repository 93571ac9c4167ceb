package zoo

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

// TestShrinking finds every fault with several seeds: each in a trial of its own, and
// so from schedules that have little in common. What it shrinks to is at most one
// event more than the smallest of them in 95 % of the cases, within 5,000 runs and
// half a second. It is asked for by REHEARSE_SEEDS=8, since it takes minutes.
func TestShrinking(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv("REHEARSE_SEEDS"))
	if err != nil {
		t.Skip("takes minutes: REHEARSE_SEEDS=8 runs it")
	}
	var (
		all, larger, missed int
		runs                []int
		took                []time.Duration
		list                []string
	)
	for _, s := range Faulty() {
		var sizes []int
		for i := range seeds {
			t.Run(fmt.Sprint(s.Name, "/", i), func(t *testing.T) {
				o, err := faultsim.Explore(t, s.Adapter)
				if err != nil {
					t.Fatal(err)
				}
				if o.Trial == 0 {
					missed++
					list = append(list, fmt.Sprintf("%s: missed in %d trials, seed %d", s.Name, o.Trials, o.Seed))
					return
				}
				sizes, runs, took = append(sizes, size(o)), append(runs, o.Runs), append(took, o.Took)
			})
		}
		slices.Sort(sizes)
		over := 0
		for _, n := range sizes {
			all++
			if n > sizes[0]+1 {
				over++
			}
		}
		if larger += over; over > 0 {
			list = append(list, fmt.Sprintf("%s: sizes %v", s.Name, sizes))
		}
	}
	if len(runs) == 0 {
		t.Fatal("nothing was found")
	}
	slices.Sort(runs)
	slices.Sort(took)
	part := func(n, of int) int { return min(n*of/100, of-1) }
	t.Logf("%d found, %d missed; %.1f %% within one event of the smallest; runs: half %d, 95 %% %d, most %d; took: half %v, 95 %% %v, most %v\n%s",
		all, missed, 100-100*float64(larger)/float64(all), runs[part(50, all)], runs[part(95, all)], runs[all-1], took[part(50, all)], took[part(95, all)], took[all-1], strings.Join(list, "\n"))
	if larger*20 > all {
		t.Errorf("%d of %d are more than one event larger than the smallest", larger, all)
	}
	if most := runs[all-1]; most > 5000 {
		t.Errorf("the longest way to the smallest took %d runs", most)
	}
}
