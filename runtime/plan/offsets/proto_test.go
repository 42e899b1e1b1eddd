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
		in, _ := newInstance(load(f))
		begin := time.Now()
		wins, trials := 0, 0
		s := newTree(in)
		r := rand.New(rand.NewPCG(uint64(0), 1))
		for ; time.Since(begin) < 5*time.Second; trials++ {
			s.shuffle(r)
			s.seen = map[digest]struct{}{}
			if ok, _ := s.ask(1048576, 2*int64(len(in.items))+200); ok {
				wins++
			}
		}
		el := time.Since(begin)
		fmt.Println(filepath.Base(f), " wins", wins, "of", trials, "nodes", s.nodes, "ns/node", el.Nanoseconds()/s.nodes, "nodes/win", int(s.nodes)/max(1, wins), "time/win", el/time.Duration(max(1, wins)))
	}
}
