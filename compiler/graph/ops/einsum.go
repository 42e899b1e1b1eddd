package ops

import (
	"slices"
	"strings"

	"tlruntime/compiler/graph"
)

var einsum = entry{
	name: "Einsum", in: "Inputs T*", out: "Output T", t: matrixTypes, accepts: "equation string",
	becomes: "ReduceSum of what only one argument has, Transpose, and MatMul or, where nothing is summed, Mul: from " +
		"the " +
		"first argument to the last.",
	infer: inferEinsum,
}

// summation is an Einsum on its way. An axis has a label: a letter, or a number behind all
// letters for one of those that an ellipsis stands for.
type summation struct {
	*rewrite
	extents map[rune]int64
}

// term is a value with the labels of its axes.
type term struct {
	v    int
	axes []rune
}

// hiddenAxis is the label of the last axis of an ellipsis; the others go on from there.
const hiddenAxis rune = 1 << 20

func inferEinsum(k *call) error {
	if err := k.require("equation"); err != nil {
		return err
	}
	equation := strings.ReplaceAll(k.given.String("equation"), " ", "")
	inputs, output, explicit := strings.Cut(equation, "->")
	texts := strings.Split(inputs, ",")
	if len(texts) != len(k.args) {
		return k.fault("give a term for each argument", "its equation %q has %d terms, and it has %d arguments",
			equation,
			len(texts), len(k.args))
	}
	s := &summation{rewrite: k.rewrite(), extents: map[rune]int64{}}
	terms, wide := make([]term, len(texts)), 0
	for i, text := range texts {
		axes, ellipsis, ok := s.labels(text, len(k.shape(i)))
		if !ok {
			return k.fault("give it a letter for each axis, or an ellipsis for some",
				"term %q of its equation does not go with the shape %s", text, graph.ShapeText(k.shape(i)))
		}
		terms[i], wide = term{k.args[i], axes}, max(wide, ellipsis)
	}
	var axes []rune
	if explicit {
		rank := len(strings.ReplaceAll(output, "...", ""))
		if strings.Contains(output, "...") {
			rank += wide
		}
		var ok bool
		if axes, _, ok = s.labels(output, rank); !ok {
			return k.fault("give it letters, or an ellipsis", "the result %q of its equation cannot be read", output)
		}
	} else {
		axes = implied(terms)
	}
	return s.sum(terms, axes)
}

// labels reads a term for a tensor of so many axes, and how many its ellipsis stands for.
func (s *summation) labels(text string, rank int) (axes []rune, ellipsis int, ok bool) {
	before, after, some := strings.Cut(text, "...")
	for _, letter := range before + after {
		if !(letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z') {
			return nil, 0, false
		}
	}
	if some {
		ellipsis = rank - len(before) - len(after)
	} else if len(text) != rank {
		return nil, 0, false
	}
	if ellipsis < 0 {
		return nil, 0, false
	}
	axes = []rune(before)
	for i := range ellipsis {
		axes = append(axes, hiddenAxis+rune(ellipsis-1-i))
	}
	return append(axes, []rune(after)...), ellipsis, true
}

// implied are the labels of a result that is not given: the axes of the ellipsis, and
// letters that stand once, in order.
func implied(terms []term) []rune {
	count := map[rune]int{}
	var all []rune
	for _, t := range terms {
		for _, a := range t.axes {
			if count[a]++; count[a] == 1 {
				all = append(all, a)
			}
		}
	}
	var behind, letters []rune
	for _, a := range all {
		if a >= hiddenAxis {
			behind = append(behind, a)
		} else if count[a] == 1 {
			letters = append(letters, a)
		}
	}
	slices.Sort(letters)
	slices.Sort(behind)
	slices.Reverse(behind)
	return append(behind, letters...)
}

func (s *summation) sum(terms []term, axes []rune) error {
	for i, t := range terms {
		for at, a := range t.axes {
			d := s.shape(i)[at]
			before, known := s.extents[a]
			if known && before != d && before != 1 && d != 1 {
				return s.fault("extents of one letter must be equal, or 1", "%q is %d and %d", string(a), before, d)
			}
			if !known || before == 1 {
				s.extents[a] = d
			}
		}
	}
	for at, a := range axes {
		if _, known := s.extents[a]; !known || slices.Contains(axes[:at], a) {
			return s.fault("each letter of the result stands there once, and in some term", "%q does not", string(a))
		}
	}
	so := s.single(terms[0])
	for i := 1; i < len(terms); i++ {
		keep := slices.Clone(axes)
		for _, t := range terms[i+1:] {
			keep = append(keep, t.axes...)
		}
		so = s.joined(so, s.single(terms[i]), keep)
	}
	so = s.without(so, func(a rune) bool { return !slices.Contains(axes, a) })
	return s.is(s.arranged(so, axes).v)
}

// single rewrites a term so that each letter stands once: of a repeated letter it takes the diagonal. It also
// removes axes of extent 1 whose letter has a larger extent in another term.
func (s *summation) single(t term) term {
	for i := 0; i < len(t.axes); i++ {
		if at := slices.Index(t.axes[i+1:], t.axes[i]); at >= 0 {
			t = s.diagonal(t, i, i+1+at)
			i--
		}
	}
	shape := s.of(t.v).Shape
	var kept []int64
	var axes []rune
	for i, d := range shape {
		if d == 1 && s.extents[t.axes[i]] != 1 {
			continue
		}
		kept, axes = append(kept, d), append(axes, t.axes[i])
	}
	if len(kept) < len(shape) {
		t = term{s.shaped(t.v, kept...), axes}
	}
	return t
}

// diagonal keeps of two axes with one letter the elements with one index.
func (s *summation) diagonal(t term, i, j int) term {
	shape := s.of(t.v).Shape
	if s.err == nil && (j >= len(shape) || shape[i] != shape[j]) {
		s.err = s.fault("extents of one letter must be equal", "%q is twice in a term with the shape %s",
			string(t.axes[i]), graph.ShapeText(shape))
	}
	if s.err != nil {
		return term{-1, slices.Delete(slices.Clone(t.axes), j, j+1)}
	}
	var perm, rest []int64
	var axes []rune
	for a := range t.axes {
		if a != i && a != j {
			perm, rest, axes = append(perm, int64(a)), append(rest, shape[a]), append(axes, t.axes[a])
		}
	}
	n, last := shape[i], int64(len(rest))
	v := s.shaped(s.turned(t.v, append(perm, int64(i), int64(j))...), append(slices.Clone(rest), n*n)...)
	v = s.node("Slice", nil, v, s.integers(0), s.integers(n*n), s.integers(last), s.integers(n+1))
	return term{v, append(axes, t.axes[i])}
}

// without sums the axes that gone names.
func (s *summation) without(t term, gone func(a rune) bool) term {
	var axes []int64
	for i, a := range t.axes {
		if gone(a) {
			axes = append(axes, int64(i))
		}
	}
	if len(axes) == 0 {
		return t
	}
	v := s.node("ReduceSum", graph.Attrs{"axes": axes, "keepdims": int64(0)}, t.v)
	return term{v, slices.DeleteFunc(slices.Clone(t.axes), gone)}
}

// arranged brings the axes of a term into an order.
func (s *summation) arranged(t term, axes []rune) term {
	if slices.Equal(t.axes, axes) {
		return t
	}
	perm := make([]int64, len(axes))
	for i, a := range axes {
		perm[i] = int64(slices.Index(t.axes, a))
	}
	return term{s.turned(t.v, perm...), axes}
}

// joined multiplies two terms and sums over the labels that nobody keeps.
func (s *summation) joined(a, b term, keep []rune) term {
	in := func(list []rune) func(rune) bool {
		return func(r rune) bool { return slices.Contains(list, r) }
	}
	a = s.without(a, func(r rune) bool { return !in(b.axes)(r) && !in(keep)(r) })
	b = s.without(b, func(r rune) bool { return !in(a.axes)(r) && !in(keep)(r) })
	var batch, inner, left, right []rune
	for _, r := range a.axes {
		switch {
		case !in(b.axes)(r):
			left = append(left, r)
		case in(keep)(r):
			batch = append(batch, r)
		default:
			inner = append(inner, r)
		}
	}
	for _, r := range b.axes {
		if !in(a.axes)(r) {
			right = append(right, r)
		}
	}
	first := s.arranged(a, slices.Concat(batch, left, inner))
	second := s.arranged(b, slices.Concat(batch, inner, right))
	all := slices.Concat(batch, left, right)
	if len(inner) == 0 {
		lined := append(s.sizes(slices.Concat(batch, left)), slices.Repeat([]int64{1}, len(right))...)
		apart := slices.Concat(s.sizes(batch), slices.Repeat([]int64{1}, len(left)), s.sizes(right))
		return term{s.node("Mul", nil, s.shaped(first.v, lined...), s.shaped(second.v, apart...)), all}
	}
	outer, m := s.sizes(batch), graph.Elements(s.sizes(left))
	k, n := graph.Elements(s.sizes(inner)), graph.Elements(s.sizes(right))
	x := s.shaped(first.v, slices.Concat(outer, []int64{m, k})...)
	y := s.shaped(second.v, slices.Concat(outer, []int64{k, n})...)
	return term{s.shaped(s.node("MatMul", nil, x, y), s.sizes(all)...), all}
}

func (s *summation) sizes(axes []rune) []int64 {
	list := make([]int64, len(axes))
	for i, a := range axes {
		list[i] = s.extents[a]
	}
	return list
}
