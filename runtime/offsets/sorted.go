package offsets

import (
	"cmp"
	"math/bits"
	"slices"
)

// unwatched is how many elements are sorted, or merged, between two looks at the clock.
const unwatched = 1 << 14

// ranked is what is sorted by a number of its own.
type ranked struct {
	rank int64
	item int32
}

func byRank(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.item, b.item)) }

// sortBy sorts, equals in any order, and watches the time.
func sortBy[T any](list []T, w watch, compare func(a, b T) int) {
	for part := range slices.Chunk(list, unwatched) {
		slices.SortFunc(part, compare)
		w(int64(len(part) * bits.Len(uint(len(part)))))
	}
	if len(list) <= unwatched {
		return
	}
	from, to := list, make([]T, len(list))
	for run := unwatched; run < len(list); run *= 2 {
		for at := 0; at < len(list); at += 2 * run {
			middle, end := min(at+run, len(list)), min(at+2*run, len(list))
			merge(to[at:end], from[at:middle], from[middle:end], w, compare)
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// merge fills to with two sorted lists.
func merge[T any](to, left, right []T, w watch, compare func(a, b T) int) {
	for k := range to {
		if k%unwatched == unwatched-1 {
			w(unwatched * unitsOfVisit)
		}
		if len(right) == 0 || len(left) > 0 && compare(left[0], right[0]) <= 0 {
			to[k], left = left[0], left[1:]
		} else {
			to[k], right = right[0], right[1:]
		}
	}
}
