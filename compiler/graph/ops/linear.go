package ops

import "tlruntime/compiler/graph"

// linear are products of matrices.
var linear = []entry{
	{name: "MatMul", in: "A T, B T", out: "Y T", t: matrixTypes,
		result: "(..., m, k) and (..., k, n) give (..., m, n); the axes before the last two are broadcast. An A of one " +
			"axis is a row, a B of one axis a column, and that axis of the result goes.",
		infer: inferMatMul},
	{name: "Gemm", in: "A T, B T, C T?", out: "Y T", t: matrixTypes,
		accepts: "alpha float, beta float, transA int, transB int, broadcast int",
		result:  "alpha * A' * B' + beta * C, where A' is A or its transpose (m, k), B' (k, n); C is broadcast to (m, n).",
		attrs: []Attribute{aFloat("alpha", "1 when left out"), aFloat("beta", "1 when left out"),
			anInt("transA", "1: A is (k, m)"), anInt("transB", "1: B is (n, k)")},
		infer: inferGemm},
}

func inferMatMul(k *call) error {
	a, b := k.shape(0), k.shape(1)
	if len(a) == 0 || len(b) == 0 {
		return k.fault("use Mul for scalars", "A has the shape %s, B %s; both need an axis", graph.ShapeText(a), graph.ShapeText(b))
	}
	row, column := len(a) == 1, len(b) == 1
	if row {
		a = []int64{1, a[0]}
	}
	if column {
		b = []int64{b[0], 1}
	}
	m, n := a[len(a)-2], b[len(b)-1]
	batch, ok := broadcast(a[:len(a)-2], b[:len(b)-2])
	if !ok || a[len(a)-1] != b[len(b)-2] {
		return k.fault("A (..., m, k) needs B (..., k, n), and axes before those that can be broadcast",
			"A has the shape %s, B %s", graph.ShapeText(k.shape(0)), graph.ShapeText(k.shape(1)))
	}
	if !row {
		batch = append(batch, m)
	}
	if !column {
		batch = append(batch, n)
	}
	return k.give(batch)
}

func inferGemm(k *call) error {
	a, b := k.shape(0), k.shape(1)
	if len(a) != 2 || len(b) != 2 {
		return k.fault("use MatMul for other ranks", "A has the shape %s, B %s; both need two axes", graph.ShapeText(a),
			graph.ShapeText(b))
	}
	var turn [2]int64
	for i, name := range []string{"transA", "transB"} {
		v, err := k.flag(name, 0)
		if err != nil {
			return err
		}
		turn[i], k.attrs[name] = v, v
	}
	m, inner := a[turn[0]], a[1-turn[0]]
	inner2, n := b[turn[1]], b[1-turn[1]]
	if inner != inner2 {
		return k.fault("both must be equal: look at transA and transB",
			"A %s has the inner extent %d, B %s has %d", graph.ShapeText(a), inner, graph.ShapeText(b), inner2)
	}
	shape := []int64{m, n}
	if k.has(2) && !broadcastTo(k.shape(2), shape) {
		return k.fault("C has to broadcast to the result", "C has the shape %s, the result %s", graph.ShapeText(k.shape(2)),
			graph.ShapeText(shape))
	}
	k.attrs["alpha"], k.attrs["beta"] = k.floatOr("alpha", 1), k.floatOr("beta", 1)
	return k.give(shape)
}
