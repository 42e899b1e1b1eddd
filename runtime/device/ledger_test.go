package device

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/status"
)

// A ledger against a list that is looked through from end to end.
func TestLedgerIsThatOfAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger("test")
		var model []Block
		holder := func(p uintptr) *Block {
			i := slices.IndexFunc(model, func(b Block) bool { return p >= b.Start && p < b.Start+b.Bytes })
			if i < 0 {
				return nil
			}
			return &model[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b := Block{Start: uintptr(rapid.IntRange(1, 60).Draw(t, "start")) * 16, Bytes: uintptr(rapid.IntRange(1, 40).Draw(t, "bytes"))}
				for _, m := range model {
					if b.Start < m.Start+m.Bytes && m.Start < b.Start+b.Bytes {
						t.Skip("overlaps")
					}
				}
				l.Add(b)
				model = append(model, b)
			},
			"take": func(t *rapid.T) {
				p, n := uintptr(rapid.IntRange(0, 1100).Draw(t, "p")), uintptr(rapid.IntRange(1, 40).Draw(t, "n"))
				if len(model) > 0 && rapid.Bool().Draw(t, "right") {
					b := model[rapid.IntRange(0, len(model)-1).Draw(t, "which")]
					p, n = b.Start, b.Bytes
				}
				want, b := status.OK, holder(p)
				switch {
				case b == nil:
					want = status.UnknownPointer
				case p != b.Start:
					want = status.InteriorPointer
				case n != b.Bytes:
					want = status.InvalidArgument
				}
				got, err := l.Take(p, n)
				require.Equal(t, want, StatusOf(err), "%v", err)
				if want == status.OK {
					require.Equal(t, *b, got)
					model = slices.DeleteFunc(model, func(m Block) bool { return m.Start == p })
				}
			},
			"find": func(t *rapid.T) {
				p, n := uintptr(rapid.IntRange(0, 1100).Draw(t, "p")), uintptr(rapid.IntRange(1, 40).Draw(t, "n"))
				want, b := status.OK, holder(p)
				switch {
				case b == nil:
					want = status.UnknownPointer
				case p+n > b.Start+b.Bytes:
					want = status.InvalidArgument
				}
				_, err := l.Find(p, n)
				require.Equal(t, want, StatusOf(err), "%v", err)
			},
			"after": func(t *rapid.T) {
				p := uintptr(rapid.IntRange(0, 1100).Draw(t, "p"))
				var want Block
				for _, m := range model {
					if m.Start >= p && (want == Block{} || m.Start < want.Start) {
						want = m
					}
				}
				got, found := l.After(p)
				require.Equal(t, want, got)
				require.Equal(t, want != Block{}, found)
			},
			"": func(t *rapid.T) {
				var sum uintptr
				for _, m := range model {
					sum += m.Bytes
				}
				blocks, bytes := l.Outstanding()
				require.Equal(t, len(model), blocks)
				require.Equal(t, sum, bytes)
			},
		})
	})
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]struct {
		family  string
		ordinal int
	}{"cpu": {"cpu", 0}, "cuda:0": {"cuda", 0}, "cuda:12": {"cuda", 12}, "my-npu_2:3": {"my-npu_2", 3}} {
		family, ordinal, err := ParseName(name)
		require.NoError(t, err)
		require.Equal(t, want.family, family)
		require.Equal(t, want.ordinal, ordinal)
	}
	for _, name := range []string{"", "CPU", "cuda:", "cuda:-1", "cuda:00", "cuda:0:1", "0", "cuda:12345", "ä:0", "a\x00b"} {
		_, _, err := ParseName(name)
		require.Equal(t, status.InvalidArgument, StatusOf(err), "%q", name)
	}
}
