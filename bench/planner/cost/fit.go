package main

import (
	"math"
	"slices"

	"tlruntime/compiler/remat"
)

// sample is a kernel that was measured.
type sample struct {
	features [4]float64
	seconds  float64
}

// fit finds the coefficients, none of which is negative, whose predictions are off by least: the sum of the squares of
// prediction over time minus 1. It tries every set of coefficients that are not 0. typical is the median of how far
// predictions are off, worst the most.
func fit(list []sample) (rate remat.Rate, typical, worst float64) {
	best, least := [4]float64{}, math.Inf(1)
	for set := 1; set < 16; set++ {
		x, ok := solve(list, set)
		if !ok || slices.Min(x[:]) < 0 {
			continue
		}
		sum := 0.0
		for _, s := range list {
			off := predicted(x, s)/s.seconds - 1
			sum += off * off
		}
		if sum < least*(1-1e-9) {
			best, least = x, sum
		}
	}
	var off []float64
	for _, s := range list {
		d := math.Abs(predicted(best, s)/s.seconds - 1)
		worst = max(worst, d)
		off = append(off, d)
	}
	slices.Sort(off)
	return remat.Rate{Call: best[0], Byte: best[1], Far: best[2], Operation: best[3]}, off[len(off)/2], worst
}

func predicted(x [4]float64, s sample) (sum float64) {
	for i := range x {
		sum += x[i] * s.features[i]
	}
	return sum
}

// solve is linear least squares over the coefficients in a set, the others being 0: the normal equations by
// elimination. Columns are scaled to length 1 first, since a call is 1 and bytes are millions.
func solve(list []sample, set int) (x [4]float64, ok bool) {
	var columns []int
	var scale [4]float64
	for i := range 4 {
		if set>>i&1 == 0 {
			continue
		}
		for _, s := range list {
			scale[i] += math.Pow(s.features[i]/s.seconds, 2)
		}
		if scale[i] = math.Sqrt(scale[i]); scale[i] == 0 {
			return x, false
		}
		columns = append(columns, i)
	}
	n := len(columns)
	a := make([][]float64, n)
	for r, i := range columns {
		a[r] = make([]float64, n+1)
		for _, s := range list {
			f := s.features[i] / s.seconds / scale[i]
			for k, j := range columns {
				a[r][k] += f * s.features[j] / s.seconds / scale[j]
			}
			a[r][n] += f
		}
	}
	for r := range n {
		if a[r][r] < 1e-9 {
			return x, false
		}
		for k := r + 1; k < n; k++ {
			f := a[k][r] / a[r][r]
			for j := r; j <= n; j++ {
				a[k][j] -= f * a[r][j]
			}
		}
	}
	for r := n - 1; r >= 0; r-- {
		y := a[r][n]
		for k := r + 1; k < n; k++ {
			y -= a[r][k] * x[columns[k]] * scale[columns[k]]
		}
		x[columns[r]] = y / a[r][r] / scale[columns[r]]
	}
	return x, true
}
