package offsets

import (
	"encoding/csv"
	"fmt"
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
		for _, limit := range []int64{1048576, 1039360} {
			if limit != 1048576 && filepath.Base(f)[0] != 'C' {
				continue
			}
			p := load(f)
			in, _ := newInstance(p)
			fmt.Println(filepath.Base(f), limit, "items", len(in.items), "sections", in.sections)
			begin := time.Now()
			wins := 0
			s := newTree(in)
			r := rand.New(rand.NewPCG(uint64(0), 1))
			trials := 0
			for seed := 0; time.Since(begin) < 6*time.Second; seed++ {
				s.shuffle(r)
				s.seen = map[digest]struct{}{}
				n0 := s.nodes
				ok, proved := s.ask(limit, 2*int64(len(in.items))+200)
				trials++
				if ok {
					wins++
				}
				if ok && wins < 4 || !ok && proved {
					fmt.Println("  seed", seed, ok, "nodes", s.nodes-n0, time.Since(begin))
				}
			}
			fmt.Println(" wins", wins, "of", trials, "nodes", s.nodes, "ns/node", 6000000000/s.nodes, "nodes/win", int(s.nodes)/max(1, wins))
		}
	}
}
