package picture

import (
	"encoding/csv"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed places buffers by decreasing size, each at the lowest free address, and
// fills in the chart's figures.
func packed(title string, buffers []Rect) *Chart {
	order := make([]*Rect, len(buffers))
	c := &Chart{Title: title, Buffers: buffers}
	for i := range buffers {
		order[i] = &buffers[i]
		c.Steps = max(c.Steps, buffers[i].End)
		c.NaiveBytes += buffers[i].Bytes
	}
	sort.SliceStable(order, func(i, j int) bool { return order[i].Bytes > order[j].Bytes })
	var placed []*Rect // by address
	for _, r := range order {
		r.Offset = 0
		for _, p := range placed {
			if p.First >= r.End || r.First >= p.End {
				continue
			}
			if p.Offset >= r.Offset+r.Bytes {
				break
			}
			r.Offset = max(r.Offset, p.Offset+p.Bytes)
		}
		at := sort.Search(len(placed), func(i int) bool { return placed[i].Offset > r.Offset })
		placed = append(placed, nil)
		copy(placed[at+1:], placed[at:])
		placed[at] = r
		c.FrameBytes = max(c.FrameBytes, r.Offset+r.Bytes)
	}
	c.LowerBound = c.live().peak()
	c.Optimal = c.LowerBound == c.FrameBytes
	return c
}

// synthetic is a network of n buffers: chains with a skip connection now and then.
func synthetic(n int) *Chart {
	random := rand.New(rand.NewSource(int64(n)))
	kinds := []string{"activation", "activation", "activation", "activation", "scratch"}
	var buffers []Rect
	for i := range n {
		bytes := int64(1+random.Intn(64)) << (10 + random.Intn(7))
		life := 2
		if random.Intn(8) == 0 {
			life = 3 + random.Intn(30)
		}
		kind := kinds[random.Intn(len(kinds))]
		buffers = append(buffers, Rect{Name: fmt.Sprintf("/block%d/conv%d/output", i/7, i%7), Kind: kind, First: i,
			End: min(i+life, n+1), Bytes: bytes, Detail: fmt.Sprintf("f32 1×%d", bytes/4)})
	}
	buffers[0].Kind, buffers[n-1].Kind = "input", "output"
	return packed(fmt.Sprintf("synthetic %d", n), buffers)
}

// fromCSV reads columns id, lower, upper, size: a buffer alive from step lower to
// before step upper.
func fromCSV(t testing.TB, file string) *Chart {
	folder := os.Getenv("TL_TEST_DATA")
	f, err := os.Open(filepath.Join(folder, "planner", file))
	if folder == "" || err != nil {
		fmt.Printf("skip: pictures of %s: TL_TEST_DATA does not name a folder with planner/%s\n", file, file)
		t.Skip("no TL_TEST_DATA")
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	var buffers []Rect
	for _, row := range rows[1:] {
		var n [3]int64
		for i := range n {
			n[i], err = strconv.ParseInt(row[i+1], 10, 64)
			require.NoError(t, err)
		}
		buffers = append(buffers, Rect{Name: row[0], Kind: "activation", First: int(n[0]), End: int(n[1]), Bytes: n[2]})
	}
	c := packed(file[:len(file)-len(".csv")], buffers)
	c.Steps = max(c.Steps, 1)
	return c
}

// crowded has much of everything that a head and a legend must find room for, a
// buffer in parts, and buffers alive before the first and after the last step.
func crowded() *Chart {
	c := synthetic(60)
	c.Title = "vision-encoder-decoder with a name that goes on for quite a while, v2.1 (quantised, batch 16)"
	c.Notes = []string{"215 buffers outside the frame not shown (97 MiB)"}
	kinds := []string{"constant", "input", "weights of the optimiser", "gradient", "pinned", "shared with the host"}
	for i := range c.Buffers {
		if i%5 == 4 {
			c.Buffers[i].Kind = kinds[i/5%len(kinds)]
		}
	}
	for i := range c.Steps {
		c.StepNames = append(c.StepNames, fmt.Sprintf("node_%d (Conv)", i))
	}
	c.Buffers[0].First = -1
	c.Buffers[len(c.Buffers)-1].End = c.Steps + 1
	c.Buffers[len(c.Buffers)-2].Name = c.Buffers[1].Name
	c.LowerBound -= 100 << 10
	c.Optimal = false
	return c
}
