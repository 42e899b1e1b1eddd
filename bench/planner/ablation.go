package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

const (
	// ablationSeeds are measured of each instance.
	ablationSeeds = 3
	// ablationBudget is the CPU time that a seed gets where it does not reach the lower bound without one.
	ablationBudget = time.Second
)

// ablated is what a group of instances costs without a part: means over instances and seeds.
type ablated struct {
	Group     string  `json:"group"`
	Without   string  `json:"without"` // "" is everything
	Instances int     `json:"instances"`
	Quick     float64 `json:"quick"` // frame over the lower bound, without a budget
	QuickCPU  float64 `json:"quick_cpu_seconds"`
	Frame     float64 `json:"frame"` // with one
	CPU       float64 `json:"cpu_seconds"`
}

// measureAblation leaves each part of the search out in turn, group by group.
func (b *bench) measureAblation(folder string) error {
	groups, err := b.groups(folder)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for _, part := range append([]offsets.NamedPart{{}}, offsets.Parts...) {
			a := ablated{Group: name, Without: part.Name, Instances: len(groups[name])}
			for _, in := range groups[name] {
				if err := a.add(in, part.Part); err != nil {
					return fmt.Errorf("%s: %w", in.name, err)
				}
			}
			b.ablated = append(b.ablated, a)
		}
	}
	fmt.Print(ablationTable(b.ablated))
	return nil
}

// ablationTable has a row for each part that was left out, and a column for each group: frames over the lower bound
// without a budget and with one.
func ablationTable(list []ablated) string {
	head, rule, cells, names := "| without |", "|---|", map[string]string{}, []string{}
	for _, a := range list {
		if a.Without == "" {
			head += fmt.Sprintf(" %s (%d) |", a.Group, a.Instances)
			rule += "---:|"
		}
		if cells[a.Without] == "" {
			names = append(names, a.Without)
		}
		cells[a.Without] += fmt.Sprintf(" %.4f, %.4f |", a.Quick, a.Frame)
	}
	lines := []string{head, rule}
	for _, name := range names {
		lines = append(lines, "| "+cmp.Or(name, "nothing")+" |"+cells[name])
	}
	return strings.Join(lines, "\n") + "\n"
}

// groups are the instances of the options and of a folder, by what they are.
func (b *bench) groups(folder string) (map[string][]instance, error) {
	groups := map[string][]instance{}
	add := func(group string, in instance) {
		groups[group] = append(groups[group], in)
	}
	if b.sets != "" {
		sets, err := problems.Sets(b.sets)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			add("training steps", instance{name: set.Name, problem: set.Problem})
		}
	}
	if folder != "" {
		list, err := instances(folder)
		if err != nil {
			return nil, err
		}
		for _, in := range list {
			add(in.group(), in)
		}
	}
	if b.shapes > 0 {
		for name, shape := range problems.Large {
			add("shapes", instance{name: name, problem: shape(1, b.shapes)})
		}
	}
	for seed := range b.packings {
		for _, guillotine := range []bool{false, true} {
			p, _ := problems.Perfect(seed, 200, guillotine)
			add("packings", instance{name: "packing", problem: p})
		}
	}
	return groups, nil
}

// group of an instance of a folder: by its capacity, its size, or the name that its file begins with.
func (in *instance) group() string {
	switch {
	case in.capacity > 0:
		return "minimalloc"
	case strings.HasPrefix(in.name, "light_"), strings.HasPrefix(in.name, "tfl_"):
		return "networks"
	case len(in.problem.Buffers) > 500:
		return "large"
	}
	return "tight"
}

// add measures an instance, and adds its share to the means.
func (a *ablated) add(in instance, without offsets.Part) error {
	share := 1 / float64(ablationSeeds*a.Instances)
	for seed := range uint64(ablationSeeds) {
		o := offsets.Options{Seed: seed + 1, Without: without}
		frame, cpu, optimal, err := ratioOf(in, o)
		if err != nil {
			return err
		}
		a.Quick, a.QuickCPU = a.Quick+share*frame, a.QuickCPU+share*cpu
		if !optimal {
			o.Budget = ablationBudget
			if frame, cpu, _, err = ratioOf(in, o); err != nil {
				return err
			}
		}
		a.Frame, a.CPU = a.Frame+share*frame, a.CPU+share*cpu
	}
	return nil
}

// ratioOf solves an instance.
func ratioOf(in instance, o offsets.Options) (frame, cpu float64, optimal bool, err error) {
	s, used, err := place(in, o)
	if err != nil {
		return 0, 0, false, err
	}
	return float64(s.FrameBytes()) / float64(max(1, s.LowerBound())), used.Seconds(), s.Optimal, nil
}
