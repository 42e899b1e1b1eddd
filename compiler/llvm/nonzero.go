package llvm

import (
	"fmt"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
)

// nonZero writes the indices of the elements that are not 0, as many as the result has room
// for, and fails where there are more or fewer.
func (k *kernel) nonZero() error {
	x, y := k.in[0], k.out[0]
	if y.dtype != graph.I64 || len(y.Shape) != 2 || y.Shape[0] != int64(len(x.Shape)) {
		return k.mismatch(k.Op)
	}
	k.fallible = true
	count := k.indicesFrom(x.ptr, nil, "0")
	wrong, fine := k.Name("b"), k.Name("b")
	k.Do("br i1 %s, label %%%s, label %%%s", k.let("icmp ne i64 %s, %d", count, y.Shape[1]), wrong, fine)
	k.begin(wrong)
	k.Do("ret i32 %d", statusInvalid)
	k.begin(fine)
	return nil
}

// indicesFrom goes over the elements behind the indices at, and returns how many were not 0
// by then.
func (k *kernel) indicesFrom(ptr string, at []string, count string) string {
	x, y := k.in[0], k.out[0]
	if n := len(at); n < len(x.Shape) {
		return k.fold(x.Shape[n], []value{{"i64", count}}, func(i string, carried []string) []string {
			next := k.at(ptr, x.memory, k.scaled(i, x.Strides[n]))
			return []string{k.indicesFrom(next, append(slices.Clone(at), i), carried[0])}
		})[0]
	}
	l, number := k.scalar(x.elem), k.scalar(elems[graph.I64])
	found := l.cmp("ne", l.load(ptr), l.number(0))
	room := k.let("icmp ult i64 %s, %d", count, y.Shape[1])
	put, after := k.Name("b"), k.Name("b")
	k.Do("br i1 %s, label %%%s, label %%%s", k.let("and i1 %s, %s", found, room), put, after)
	k.begin(put)
	for axis, i := range at {
		row := k.at(y.ptr, y.memory, strconv.FormatInt(int64(axis)*y.Strides[0], 10))
		number.store(i, k.at(row, y.memory, k.scaled(count, y.Strides[1])))
	}
	k.Do("br label %%%s", after)
	k.begin(after)
	return k.let("add i64 %s, %s", count, k.let("zext i1 %s to i64", found))
}

// nonZeroCheck tells what a NonZero looks at while it runs.
func nonZeroCheck(n int64) string {
	return fmt.Sprintf("%d elements of its argument have to be other than 0", n)
}
