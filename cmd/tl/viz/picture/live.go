package picture

import "sort"

// curve is how many bytes are live: Bytes[i] in the steps from Steps[i] to before
// Steps[i+1]. The last is 0.
type curve struct {
	Steps []int   `json:"steps"`
	Bytes []int64 `json:"bytes"`
}

// live sums the rectangles of each step. Buffers that share bytes at the same time,
// such as parts of one, count each for themselves.
func (c *Chart) live() curve {
	change := make(map[int]int64, 2*len(c.Buffers))
	for i := range c.Buffers {
		r := &c.Buffers[i]
		change[r.First] += r.Bytes
		change[r.End] -= r.Bytes
	}
	steps := make([]int, 0, len(change))
	for step, bytes := range change {
		if bytes != 0 {
			steps = append(steps, step)
		}
	}
	sort.Ints(steps)
	first, _ := c.span()
	result := curve{}
	if len(steps) == 0 || steps[0] != first {
		result = curve{Steps: []int{first}, Bytes: []int64{0}}
	}
	sum := int64(0)
	for _, step := range steps {
		sum += change[step]
		result.Steps = append(result.Steps, step)
		result.Bytes = append(result.Bytes, sum)
	}
	return result
}

func (c curve) peak() int64 {
	peak := int64(0)
	for _, bytes := range c.Bytes {
		peak = max(peak, bytes)
	}
	return peak
}
