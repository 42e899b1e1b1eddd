package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// maxChecked buffers are checked; the checker compares pairs, of which a crowd has too many beyond.
const maxChecked = 30_000

// place is solve, for any number of buffers.
func place(in instance, o offsets.Options) (*offsets.Solution, time.Duration, error) {
	if len(in.problem.Buffers) <= maxChecked {
		return solve(in, o)
	}
	start := time.Now()
	s, err := offsets.Solve(in.problem, o)
	return s, time.Since(start), err
}

// generateShapes measures generated instances of every shape, without a budget and with one of five seconds.
func (b *bench) generateShapes(buffers int) error {
	const budget = 5 * time.Second
	fmt.Printf("\n| generated | buffers | no budget | time | %v | time |\n|---|%s\n", budget, strings.Repeat("---:|", 5))
	for _, name := range slices.Sorted(maps.Keys(problems.Large)) {
		in := instance{name: name, problem: problems.Large[name](1, buffers)}
		quick, quickTime, err := place(in, offsets.Options{Seed: b.options.Seed})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s, took, err := place(in, offsets.Options{Seed: b.options.Seed, Budget: budget})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r := &record{Instance: name, Buffers: len(in.problem.Buffers), LowerBound: s.LowerBound(),
			Quick: quick.FrameBytes(), QuickTime: quickTime.Seconds(), Bytes: s.FrameBytes(), Time: took.Seconds(),
			Optimal: s.Optimal, ResidentKiB: resident()}
		fmt.Printf("| %s | %d | %s | %s | %s | %s |\n", name, r.Buffers, ratio(r.Quick, r.LowerBound), short(r.QuickTime),
			ratio(r.Bytes, r.LowerBound), short(r.Time))
		b.records = append(b.records, r)
	}
	fmt.Printf("\n%d KiB resident at most\n", resident())
	return nil
}
