package main

import (
	"fmt"
	"math"

	"tlruntime/tests_go/problems"
)

// measureSets measures the recorded lifetimes of a folder, each beside all the peers that place once.
func (b *bench) measureSets() error {
	if b.sets == "" {
		return nil
	}
	list, err := problems.Sets(b.sets)
	if err != nil {
		return err
	}
	shapeHeading()
	for _, set := range list {
		if err := b.shape(instance{name: set.Name, problem: set.Problem}, math.Inf(1)); err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
	}
	return nil
}

// measurePackings measures perfect packings, whose optimum is known: the bytes alive at every step.
func (b *bench) measurePackings() error {
	if b.packings == 0 {
		return nil
	}
	shapeHeading()
	for _, kind := range []string{"guillotine", "pinwheels"} {
		for _, buffers := range []int{50, 200, 1000} {
			for seed := range b.packings {
				p, _ := problems.Perfect(seed, buffers, kind == "guillotine")
				in := instance{name: "packing by " + kind, problem: p}
				if err := b.shape(in, math.Inf(1)); err != nil {
					return fmt.Errorf("%s, seed %d: %w", in.name, seed, err)
				}
			}
		}
	}
	return nil
}
