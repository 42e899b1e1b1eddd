package offsets

import (
	"cmp"
	"slices"
)

// unwatched is how many pairs are compared between two looks at the clock.
const unwatched = 1 << 14

// ranked is what is sorted by a number of its own.
type ranked struct {
	rank int64
	item int32
}

func byRank(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.item, b.item)) }

// sortBy sorts, equals in any order, and watches the time.
func sortBy[T any](list []T, w watch, compare func(a, b T) int) {
	unseen := 0
	slices.SortFunc(list, func(a, b T) int {
		if unseen++; unseen == unwatched {
			w(unwatched)
			unseen = 0
		}
		return compare(a, b)
	})
	w(int64(unseen))
}
