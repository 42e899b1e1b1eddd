package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

// reduceOp is an operator that joins the elements of some axes.
func reduceOp(name string, t graph.DTypes, result string, infer func(*call) error) entry {
	return entry{name: name, in: "data T, axes i64?!", out: "reduced T", t: t, accepts: reduceAttrs, attrs: reduced,
		result: result, infer: infer}
}

var reductions = []entry{
	reduceOp("ReduceSum", matrixTypes, "An empty sum is 0.", inferReduce),
	reduceOp("ReduceMean", matrixTypes, "Integers divide towards zero. The mean of nothing is NaN; integers have none.",
		inferReduceMean),
	reduceOp("ReduceMax", anyTypes, "The maximum of nothing is the lowest of the type: -Inf, false.", inferReduce),
	reduceOp("ReduceMin", anyTypes, "The minimum of nothing is the highest of the type: +Inf, true.", inferReduce),
	reduceOp("ReduceProd", matrixTypes, "An empty product is 1.", inferReduce),
	reduceOp("ReduceL1", matrixTypes, "The sum of absolute values.", inferReduceChanged),
	reduceOp("ReduceL2", floatTypes, "The square root of the sum of squares.", inferReduceChanged),
	reduceOp("ReduceSumSquare", matrixTypes, "The sum of squares.", inferReduceChanged),
	reduceOp("ReduceLogSum", floatTypes, "The logarithm of the sum; of nothing, -Inf.", inferReduceChanged),
	reduceOp("ReduceLogSumExp", floatTypes,
		"log(sum(e ^ data)), without an overflow on the way; of nothing, -Inf.", inferReduceChanged),
}

// reductionAxes returns the axes that go, ascending.
func (k *call) reductionAxes() ([]int64, error) {
	rank := len(k.shape(0))
	list, _, err := k.list(1, "axes")
	if err != nil {
		return nil, err
	}
	axes, err := k.axes(list, rank)
	if err != nil {
		return nil, err
	}
	noop, err := k.flag("noop_with_empty_axes", 0)
	if err != nil {
		return nil, err
	}
	if len(axes) == 0 && noop == 0 {
		for i := range rank {
			axes = append(axes, int64(i))
		}
	}
	slices.Sort(axes)
	return axes, nil
}

func inferReduce(k *call) error { return k.reduce(true, false) }

// inferReduceChanged is inferReduce of an operator that changes elements, also where it joins none.
func inferReduceChanged(k *call) error { return k.reduce(true, true) }

// inferReduceMean is inferReduce without means of no integers, which do not exist.
func inferReduceMean(k *call) error { return k.reduce(floatTypes.Has(k.outType()), false) }

// reduce takes the axes away that a reduction names. One of no elements goes only
// where a reduction of nothing has a result. One of no axes is the argument itself unless
// the operator changes elements.
func (k *call) reduce(ofNothing, changes bool) error {
	axes, err := k.reductionAxes()
	if err != nil {
		return err
	}
	keep, err := k.flag("keepdims", 1)
	if err != nil {
		return err
	}
	if len(axes) == 0 && !changes {
		return k.become("Identity", k.shape(0))
	}
	shape := []int64{}
	for i, d := range k.shape(0) {
		gone := slices.Contains(axes, int64(i))
		if gone && d == 0 && !ofNothing {
			return k.fault("reduce at least one element, or Cast to a float type, whose mean of nothing is NaN",
				"axis %d of %s has no elements", i, graph.ShapeText(k.shape(0)))
		}
		if gone && keep == 1 {
			d = 1
		}
		if !gone || keep == 1 {
			shape = append(shape, d)
		}
	}
	k.attrs["axes"], k.attrs["keepdims"] = axes, keep
	return k.give(shape)
}
