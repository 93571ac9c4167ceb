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

// TestShrinking finds faults with several seeds: each in a trial of its own, and
// so from schedules that have little in common. What it shrinks to is at most one
// event more than the smallest of them in 95 % of the cases, within 5,000 runs; of all
// faults with REHEARSE_SEEDS=8, which takes minutes, and else of some.
func TestShrinking(t *testing.T) {
	seeds, step := 2, 32
	if n, err := strconv.Atoi(os.Getenv("REHEARSE_SEEDS")); err == nil {
		seeds, step = max(n, 2), 1
	}
	var (
		all, larger, missed int
		runs                []int
		took                []time.Duration
		list                []string
		slowest             string
	)
	for n, s := range Faulty() {
		if n%step != 0 {
			continue
		}
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
				if len(took) == 0 || o.Took > slices.Max(took) {
					slowest = fmt.Sprintf("%s in %d runs", t.Name(), o.Runs)
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
	t.Logf("%d found, %d missed; %.1f %% within one event of the smallest; runs: half %d, 95 %% %d, most %d; took: half %v, 95 %% %v, most %v (%s)\n%s",
		all, missed, 100-100*float64(larger)/float64(all), runs[part(50, all)], runs[part(95, all)], runs[all-1], took[part(50, all)], took[part(95, all)], took[all-1], slowest, strings.Join(list, "\n"))
	if larger > max(all/20, 3) {
		t.Errorf("%d of %d are more than one event larger than the smallest", larger, all)
	}
	if most := runs[all-1]; most > 5000 {
		t.Errorf("the longest way to the smallest took %d runs", most)
	}
}
