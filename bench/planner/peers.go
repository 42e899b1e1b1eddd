package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tlruntime/runtime/offsets"
)

// peers are what others do, re-implemented in a few lines: the frame, in bytes.
var peers = []struct {
	name  string
	place func([]offsets.Buffer) int64
}{
	{"by size (TFLite)", func(b []offsets.Buffer) int64 { return bestFit(b, sorted(b, bySize)) }},
	{"best of two (XLA)", func(b []offsets.Buffer) int64 {
		return min(bestFit(b, sorted(b, bySize)), bestFit(b, sorted(b, byDuration)))
	}},
	{"program order (IREE)", func(b []offsets.Buffer) int64 { return bestFit(b, sorted(b, byStart)) }},
	{"hill climb (USMP)", hillClimb},
}

func bySize(a, b offsets.Buffer) int64     { return b.Bytes - a.Bytes }
func byDuration(a, b offsets.Buffer) int64 { return (b.End - b.First) - (a.End - a.First) }
func byStart(a, b offsets.Buffer) int64    { return a.First - b.First }

// sorted is a stable order.
func sorted(list []offsets.Buffer, less func(a, b offsets.Buffer) int64) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch d := less(list[x], list[y]); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	return order
}

// placed is a buffer at an offset.
type placed struct {
	offsets.Buffer
	at int64
}

// bestFit puts one buffer after the other into the smallest hole that holds it.
func bestFit(list []offsets.Buffer, order []int) int64 {
	return greedy(list, order, func(hole, best int64) bool { return best < 0 || hole < best })
}

// firstFit puts one buffer after the other as low as it can go.
func firstFit(list []offsets.Buffer, order []int) int64 {
	return greedy(list, order, func(_, best int64) bool { return best < 0 })
}

// greedy keeps what is placed sorted by offset.
func greedy(list []offsets.Buffer, order []int, better func(hole, best int64) bool) int64 {
	below, frame := []placed{}, int64(0)
	for _, i := range order {
		b := list[i]
		at, best, end := int64(-1), int64(-1), int64(0)
		for _, x := range below {
			if x.First >= b.End || b.First >= x.End {
				continue
			}
			if hole := x.at - end; hole >= b.Bytes && better(hole, best) {
				at, best = end, hole
			}
			end = max(end, x.at+x.Bytes)
		}
		if at < 0 {
			at = end
		}
		k, _ := slices.BinarySearchFunc(below, at, func(x placed, at int64) int {
			return int(min(1, max(-1, x.at-at)))
		})
		below = slices.Insert(below, k, placed{b, at})
		frame = max(frame, at+b.Bytes)
	}
	return frame
}

// hillClimb swaps two positions of the order by size, 500 times, and keeps what is
// no worse.
func hillClimb(list []offsets.Buffer) int64 {
	r := rand.New(rand.NewPCG(1, 1))
	order := sorted(list, bySize)
	best := firstFit(list, order)
	for range 500 {
		i, j := r.IntN(len(order)), r.IntN(len(order))
		order[i], order[j] = order[j], order[i]
		if frame := firstFit(list, order); frame <= best {
			best = frame
		} else {
			order[i], order[j] = order[j], order[i]
		}
	}
	return best
}

// minimalloc runs the real one on the instances that have a capacity.
func minimalloc(folder string, list []instance, budget time.Duration) []string {
	program, err := exec.LookPath("minimalloc")
	if err != nil {
		return []string{"", "skip: minimalloc is not on the PATH"}
	}
	lines := []string{""}
	for _, in := range list {
		if in.capacity == 0 {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(folder, "*", in.name+".csv"))
		files = append(files, filepath.Join(folder, in.name+".csv"))
		start := time.Now()
		err := exec.Command(program, "--capacity="+strconv.FormatInt(in.capacity, 10), "--input="+files[0],
			"--output="+os.DevNull, "--timeout="+budget.String()).Run()
		lines = append(lines, fmt.Sprintf("minimalloc, %s: %s, %v", in.name, short(time.Since(start).Seconds()), err))
	}
	return lines
}
