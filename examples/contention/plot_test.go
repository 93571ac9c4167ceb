package contention_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/gold"
)

// A point of the plot: how often so many writers call, on average, and the standard
// deviation from row to row.
type point struct {
	strategy        string
	clients         int
	mean, deviation float64
}

type points []point

func (ps points) at(t *testing.T, strategy string, clients int) point {
	t.Helper()
	i := slices.IndexFunc(ps, func(p point) bool { return p.strategy == strategy && p.clients == clients })
	require.GreaterOrEqual(t, i, 0, "the table has nothing of %d clients with %s", clients, strategy)
	return ps[i]
}

// tableRows is over how many rows the points of the table are averages.
const tableRows = 20

var tablePath = filepath.Join("testdata", "calls.csv")

// table reads the points that were played with -update.
func table(t *testing.T) points {
	t.Helper()
	file, err := os.Open(tablePath)
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	var ps points
	for _, r := range records[1:] {
		clients, err := strconv.Atoi(r[1])
		require.NoError(t, err)
		mean, err := strconv.ParseFloat(r[2], 64)
		require.NoError(t, err)
		deviation, err := strconv.ParseFloat(r[3], 64)
		require.NoError(t, err)
		ps = append(ps, point{r[0], clients, mean, deviation})
	}
	return ps
}

func (ps points) String() string {
	var b strings.Builder
	b.WriteString("strategy,clients,calls,deviation\n")
	for _, p := range ps {
		fmt.Fprintf(&b, "%s,%d,%.2f,%.2f\n", p.strategy, p.clients, p.mean, p.deviation)
	}
	return b.String()
}

// The table is what comes out when it is played: all of it with -update, which takes
// a minute, and otherwise the cheapest points.
func TestTable(t *testing.T) {
	most := 10
	if *gold.Update {
		most = 100
	}
	var ps points
	for _, s := range strategies {
		for clients := 10; clients <= most; clients += 10 {
			ps = append(ps, played(t, s, clients, tableRows))
		}
	}
	if *gold.Update {
		gold.Equal(t, tablePath, ps.String())
	}
	text := table(t).String()
	for _, line := range strings.SplitAfter(ps.String(), "\n") {
		require.Contains(t, text, line)
	}
}

func TestPlot(t *testing.T) {
	gold.Equal(t, filepath.Join("..", "..", "docs", "jitter.svg"), plot(table(t)))
}

// The plot's measures, in pixels.
const (
	width, height            = 740, 420
	left, right, top, bottom = 64, 148, 40, 48
	mostClients, mostCalls   = 100, 2500
)

// plot draws calls over clients, a line for each strategy, with its name and last
// value at its end.
func plot(ps points) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">
<title id="title">Calls that writers of one row make until all have written, by the number of writers and the way they wait</title>
`, width, height, width, height)
	b.WriteString(style)
	fmt.Fprintf(&b, `<text class="head" x="%d" y="24">Calls until all writers of one row have written</text>`+"\n", left)
	axes(&b)
	end := labels(ps)
	for _, s := range strategies {
		line(&b, ps, s.name, end[s.name])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const style = `<style>
  text { font: 13px sans-serif; fill: #333 }
  .head { font-size: 15px; font-weight: bold }
  .number { font-size: 12px; fill: #555 }
  .grid { stroke: #ddd }
  .axis { stroke: #888 }
  polyline { fill: none; stroke-width: 2 }
  .none { stroke: #c0392b } .exponential { stroke: #d35400 } .decorrelated { stroke: #7d3c98 } .equal { stroke: #1f6fb2 } .full { stroke: #1e8449 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .number { fill: #aaa } .grid { stroke: #3a3a3a } .axis { stroke: #888 }
    .none { stroke: #ff7b6b } .exponential { stroke: #f5a04a } .decorrelated { stroke: #c78be0 } .equal { stroke: #6db3f2 } .full { stroke: #58d68d }
  }
</style>
`

func x(clients float64) float64 { return left + clients/mostClients*(width-left-right) }
func y(calls float64) float64   { return height - bottom - calls/mostCalls*(height-top-bottom) }

// axes draws the grid and the numbers beside it.
func axes(b *strings.Builder) {
	for calls := 0; calls <= mostCalls; calls += 500 {
		at, class := y(float64(calls)), "grid"
		if calls == 0 {
			class = "axis"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", class, left, at, width-right, at)
		fmt.Fprintf(b, `<text class="number" x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", left-8, at+4, calls)
	}
	for clients := 0; clients <= mostClients; clients += 20 {
		fmt.Fprintf(b, `<text class="number" x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(float64(clients)), height-bottom+18, clients)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">writers at once</text>`+"\n", x(mostClients/2), height-10)
}

// labels are the heights of the names at the ends of the lines, kept apart.
func labels(ps points) map[string]float64 {
	var last points
	for _, p := range ps {
		if p.clients == mostClients {
			last = append(last, p)
		}
	}
	slices.SortFunc(last, func(a, b point) int { return int(a.mean - b.mean) })
	at, lowest := map[string]float64{}, float64(height)
	for _, p := range last {
		const line = 16
		lowest = min(y(p.mean)+4, lowest-line)
		at[p.strategy] = lowest
	}
	return at
}

// line draws the points of one strategy.
func line(b *strings.Builder, ps points, strategy string, label float64) {
	var at []string
	latest := 0.0
	for _, p := range ps {
		if p.strategy == strategy {
			at = append(at, fmt.Sprintf("%.1f,%.1f", x(float64(p.clients)), y(p.mean)))
			latest = p.mean
		}
	}
	fmt.Fprintf(b, `<polyline class="%s" points="%s"/>`+"\n", strategy, strings.Join(at, " "))
	fmt.Fprintf(b, `<text x="%d" y="%.1f">%s %.0f</text>`+"\n", width-right+8, label, strategy, latest)
}
