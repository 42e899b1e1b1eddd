package plan

import "math/big"

// points are the highest numbers of a symbol, one more than the degree, where there are
// so many.
func (s *sizing) points(symbol int) []int64 {
	n := &s.Symbols[symbol]
	var list []int64
	for x := n.To; x >= n.From && len(list) <= degree; x-- {
		list = append(list, x)
	}
	return list
}

// grid lists all combinations of points; the last symbol goes fastest.
func (s *sizing) grid() [][]int64 {
	list := [][]int64{{}}
	for i := range s.Symbols {
		list = product(list, s.points(i))
	}
	return list
}

// fit finds the polynomial of each buffer's size through the points of the grid.
func (s *sizing) fit() error {
	grid := s.grid()
	s.Sizes = make([]Polynomial, len(s.candidate.plan.Buffers))
	for b := range s.Sizes {
		values := make([]*big.Rat, len(grid))
		for k, numbers := range grid {
			values[k] = big.NewRat(s.at(numbers).plan.Buffers[b].Bytes, 1)
		}
		width := len(grid)
		for i := range s.Symbols {
			points := s.points(i)
			width /= len(points)
			interpolate(values, points, width)
		}
		for k, coefficient := range values {
			if coefficient.Sign() == 0 {
				continue
			}
			if !coefficient.IsInt() || !coefficient.Num().IsInt64() {
				return errorf("the size of buffer %q is no polynomial of the symbols of degree %d with whole coefficients",
					s.candidate.plan.Buffers[b].Name, degree)
			}
			s.Sizes[b] = append(s.Sizes[b], Term{coefficient.Num().Int64(), s.powers(k)})
		}
	}
	return nil
}

// powers returns those of the coefficient at place k of the grid.
func (s *sizing) powers(k int) []int {
	list := make([]int, len(s.Symbols))
	for i := len(list) - 1; i >= 0; i-- {
		n := len(s.points(i))
		list[i], k = k%n, k/n
	}
	return list
}

// interpolate replaces the values at points along one axis by the coefficients of the
// polynomial through them, the constant first: Newton's divided differences, multiplied
// out. Neighbours on the axis are width apart.
func interpolate(values []*big.Rat, points []int64, width int) {
	n := len(points)
	for first := range values {
		if first/width%n != 0 {
			continue
		}
		c := make([]*big.Rat, n)
		for i := range c {
			c[i] = new(big.Rat).Set(values[first+i*width])
		}
		for level := 1; level < n; level++ {
			for i := n - 1; i >= level; i-- {
				c[i].Sub(c[i], c[i-1])
				c[i].Quo(c[i], big.NewRat(points[i]-points[i-level], 1))
			}
		}
		for i := n - 2; i >= 0; i-- {
			for k := i; k < n-1; k++ {
				c[k].Sub(c[k], new(big.Rat).Mul(c[k+1], big.NewRat(points[i], 1)))
			}
		}
		for i := range c {
			values[first+i*width] = c[i]
		}
	}
}
