package graph

import "fmt"

var nonZero = entry{
	name: "NonZero", in: "X T", out: "Y i64", t: AnyTypes,
	result: "Shape (axes of X, n): the indices of the n elements that are not 0, row by row. The model states n in the " +
		"type of Y (value_info), as a number or as a symbol that is bound, or X is constant. A run in which another number " +
		"of elements is not 0 is an error of the run.",
	infer: inferNonZero,
}

// inferNonZero takes the extent of the result from what the graph declares of it: nothing else
// bounds it but the elements of X.
func inferNonZero(k *call) error {
	if t := k.arg(0).Constant; t != nil && Elements(t.Shape) <= arithmeticElements {
		y := indicesOf(t)
		k.results = []result{{I64, y.Shape, &y}}
		return nil
	}
	rank := int64(len(k.shape(0)))
	shape, why := k.draft.Host.Declared(k.node.Outputs[0])
	if why != "" {
		return k.fault("state the shape of its result (value_info of ONNX, values of a JSON graph), and bind its symbols; "+
			"or make its argument constant", "how many elements are not 0 is not known: %s", why)
	}
	if len(shape) != 2 || shape[0] != rank || shape[1] > Elements(k.shape(0)) {
		return k.fault(fmt.Sprintf("state (%d, n) for an n of at most %d", rank, Elements(k.shape(0))),
			"its result is declared with the shape %s", shapeText(shape))
	}
	return k.give(shape)
}

// indicesOf lists the indices of the elements that are not 0.
func indicesOf(t *Tensor) Tensor {
	var found []int64
	for i := range Elements(t.Shape) {
		if t.floatAt(i) != 0 {
			found = append(found, i)
		}
	}
	y := newTensor(I64, []int64{int64(len(t.Shape)), int64(len(found))})
	below := int64(1)
	for axis := len(t.Shape) - 1; axis >= 0; axis-- {
		for n, i := range found {
			y.setInt(int64(axis*len(found)+n), i/below%t.Shape[axis])
		}
		below *= t.Shape[axis]
	}
	return y
}
