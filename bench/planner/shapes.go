package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

const (
	// shapeBudget is the time that a large instance gets.
	shapeBudget = 5 * time.Second
	// peerWork bounds the pairs of buffers alive together for the peers, which are simple and so slow, in instances
	// of a million.
	peerWork = 60_000_000.0
	// fewBuffers are few enough for the peers however many are alive together.
	fewBuffers = 30_000
	// climbers is the most buffers for a peer that places many times.
	climbers = 1000
)

// measureShapes measures generated instances of every shape, of two numbers of buffers, and the lifetimes of a recorded
// program: without a budget, and with one of five seconds.
func (b *bench) measureShapes() error {
	if b.shapes == 0 {
		return nil
	}
	shapeHeading()
	for _, name := range slices.Sorted(maps.Keys(problems.Large)) {
		for _, buffers := range []int{fewBuffers, b.shapes} {
			in, most := instance{name: name, problem: problems.Large[name](1, buffers)}, peerWork
			if buffers <= fewBuffers {
				most = math.Inf(1)
			}
			if err := b.shape(in, most); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if buffers == b.shapes {
				break
			}
		}
	}
	if b.trace == "" {
		return nil
	}
	in, err := recorded(b.trace)
	if err != nil {
		return err
	}
	return b.shape(in, peerWork)
}

func shapeHeading() {
	heading := "\n| instance | buffers | no budget | CPU | %v | time | MiB | best peer |\n|---|%s\n"
	fmt.Printf(heading, shapeBudget, strings.Repeat("---:|", 7))
}

// shape measures one of them, and the peers where no more than so many pairs of buffers are alive together.
func (b *bench) shape(in instance, most float64) error {
	quick, used, err := place(in, offsets.Options{Seed: b.options.Seed})
	if err != nil {
		return err
	}
	forget()
	s, took, err := place(in, offsets.Options{Seed: b.options.Seed, Budget: shapeBudget})
	if err != nil {
		return err
	}
	r := &record{Instance: in.name, Buffers: len(in.problem.Buffers), LowerBound: s.LowerBound(),
		Quick: quick.FrameBytes(), QuickCPU: used.Seconds(), Bytes: s.FrameBytes(),
		Time: took.Seconds(), Optimal: s.Optimal, ResidentKiB: resident(), Peers: map[string]float64{}}
	r.besides(in, most)
	b.records = append(b.records, r)
	best := "-"
	for name, frame := range r.Peers {
		if frame == slices.Min(slices.Collect(maps.Values(r.Peers))) {
			best = fmt.Sprintf("%.4f %s", frame, name)
		}
	}
	fmt.Printf("| %s | %d | %s | %s | %s | %s | %d | %s |\n", r.Instance, r.Buffers, ratio(r.Quick, r.LowerBound),
		short(r.QuickCPU), ratio(r.Bytes, r.LowerBound), short(r.Time), r.ResidentKiB/1024, best)
	return nil
}

// besides measures the peers that are quick enough.
func (r *record) besides(in instance, most float64) {
	work := pairs(in.problem.Buffers)
	for _, p := range peers {
		if p.slow && r.Buffers > climbers || work > most {
			continue
		}
		r.Peers[p.name] = float64(p.place(in.problem.Buffers)) / float64(max(1, r.LowerBound))
	}
}

// pairs is about how many pairs are alive together.
func pairs(list []offsets.Buffer) float64 {
	first, end, life := int64(math.MaxInt64), int64(math.MinInt64), 0.0
	for _, b := range list {
		first, end, life = min(first, b.First), max(end, b.End), life+float64(b.End-b.First)
	}
	return life / float64(max(1, end-first)) * float64(len(list))
}

// place is solve with another check, since comparing pairs takes too long for a million buffers.
func place(in instance, o offsets.Options) (*offsets.Solution, time.Duration, error) {
	s, took, err := timed(in, o)
	if err == nil {
		err = apart(in.problem.Buffers, s.Offsets)
	}
	return s, took, err
}

// apart checks a placement with nothing but offsets: it goes through time with a list of what is alive, by offset,
// and looks at the two neighbours of what begins.
func apart(list []offsets.Buffer, at []int64) error {
	for i, b := range list {
		if at[i] < 0 || at[i]%max(1, b.Alignment) != 0 {
			return fmt.Errorf("buffer %d lies at %d", i, at[i])
		}
	}
	begin := sorted(list, byStart)
	end := sorted(list, func(a, b offsets.Buffer) int64 { return a.End - b.End })
	alive := []int{}
	find := func(i int) int {
		k, _ := slices.BinarySearchFunc(alive, at[i], func(x int, at0 int64) int { return sign(at[x] - at0) })
		return k
	}
	for _, i := range begin {
		for ; len(end) > 0 && list[end[0]].End <= list[i].First; end = end[1:] {
			if list[end[0]].Bytes > 0 {
				k := find(end[0])
				alive = slices.Delete(alive, k, k+1)
			}
		}
		if list[i].Bytes == 0 {
			continue
		}
		k := find(i)
		if k > 0 && at[alive[k-1]]+list[alive[k-1]].Bytes > at[i] ||
			k < len(alive) && at[i]+list[i].Bytes > at[alive[k]] {
			return fmt.Errorf("buffer %d shares bytes with another one", i)
		}
		alive = slices.Insert(alive, k, i)
	}
	return nil
}

// recorded reads a trace of allocations and releases, as src/trace.hpp describes it: a step for each. Sizes
// are multiples of 16, as those of malloc, so that peers that align nothing place the same.
func recorded(path string) (instance, error) {
	in := instance{name: strings.TrimSuffix(filepath.Base(path), ".trace.gz") + ", recorded"}
	f, err := os.Open(path)
	if err != nil {
		return in, err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return in, err
	}
	live, step := map[string]int{}, int64(0)
	for lines := bufio.NewScanner(plain); lines.Scan(); step++ {
		var kind, id string
		var bytes int64
		if n, _ := fmt.Sscan(lines.Text(), &kind, &id, &bytes); n < 2 {
			continue
		}
		if kind == "a" {
			live[id] = len(in.problem.Buffers)
			in.problem.Buffers = append(in.problem.Buffers, offsets.Buffer{Bytes: (bytes + 15) &^ 15, First: step})
		} else {
			in.problem.Buffers[live[id]].End = step
			delete(live, id)
		}
	}
	for _, i := range live {
		in.problem.Buffers[i].End = step
	}
	return in, nil
}

// processor is the time that this process has computed.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forget gives free memory back, and has the system measure the peak anew.
func forget() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
