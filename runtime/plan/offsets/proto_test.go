package offsets

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func load(file string) *Problem {
	f, _ := os.Open(file)
	rows, _ := csv.NewReader(f).ReadAll()
	p := &Problem{}
	for _, r := range rows[1:] {
		b := Buffer{}
		b.First, _ = strconv.ParseInt(r[1], 10, 64)
		b.End, _ = strconv.ParseInt(r[2], 10, 64)
		b.Bytes, _ = strconv.ParseInt(r[3], 10, 64)
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

func TestProto(t *testing.T) {
	files, _ := filepath.Glob("/work/shared/data/planner/minimalloc/[A-G].*.csv")
	for _, f := range files {
		p := load(f)
		in, _ := newInstance(p)
		fmt.Println(filepath.Base(f), "items", len(in.items), "sections", in.sections)
		for seed := 0; seed < 8; seed++ {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			s := newTree(in, 1048576)
			s.max = 100000
			w1, w2 := 1.0, 1.0
			switch seed % 4 {
			case 1:
				w1, w2 = 1, 0
			case 2:
				w1, w2 = 0, 1
			case 3:
				w1, w2 = 1, 2
			}
			noise := 0.0
			if seed >= 4 {
				noise = 0.5
			}
			for i := range in.items {
				it := &in.items[i]
				s.score[i] = w1*math.Log(float64(it.size)) + w2*math.Log(float64(it.end-it.first)) + noise*r.NormFloat64()
			}
			start := time.Now()
			ok := s.propagate() && s.search(0, int32(in.sections))
			el := time.Since(start)
			fmt.Println("  seed", seed, ok, "nodes", s.nodes, "stop", s.stop, "hits", s.hits, el, "ns/node", el.Nanoseconds()/max(1, s.nodes))
		}
	}
}
