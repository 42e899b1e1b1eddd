package offsets_test

import (
	"errors"
	"testing"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// FuzzSolve reads a problem out of bytes, nonsense included. Whatever it is, the
// answer is right or the error is one of the two.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 40, 90, 8, 3, 0, 4, 0, 8, 0, 1, 5, 2, 7})
	f.Add([]byte("four score and seven years ago our fathers brought forth upon this continent"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decode(data)
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: 500})
		var input *offsets.InputError
		var limit *offsets.LimitError
		switch {
		case errors.As(err, &input), errors.As(err, &limit):
		case err != nil:
			t.Fatalf("%T: %v", err, err)
		default:
			if err := check.Solution(p, s); err != nil {
				t.Fatal(err, p)
			}
		}
	})
}

// reader takes small signed numbers from bytes, 0 at the end.
type reader []byte

func (r *reader) next() int64 {
	if len(*r) == 0 {
		return 0
	}
	x := int64(int8((*r)[0]))
	*r = (*r)[1:]
	return x
}

func decode(data []byte) offsets.Problem {
	r := reader(data)
	p := offsets.Problem{}
	for range r.next() & 3 {
		p.Spaces = append(p.Spaces, offsets.Space{Capacity: r.next()})
	}
	for len(r) > 0 && len(p.Buffers) < 60 {
		kind := r.next()
		b := offsets.Buffer{Bytes: r.next(), First: r.next()}
		b.End = b.First + r.next()&15
		if kind&1 != 0 {
			b.Alignment = r.next()
		}
		if kind&6 == 6 {
			b.Pinned, b.Offset = true, r.next()
		}
		if kind&24 == 24 {
			b.Alias, b.Base, b.BaseOffset = true, int(r.next()), r.next()
		}
		if kind&32 != 0 {
			first := r.next()
			b.Gaps = append(b.Gaps, offsets.Interval{First: first, End: first + r.next()&7})
		}
		if kind&64 != 0 {
			b.Spaces = append(b.Spaces, int(r.next()), int(r.next()))
		}
		p.Buffers = append(p.Buffers, b)
	}
	return p
}
