package device

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/status"
)

// ledgerModel is a ledger beside a list that is looked through from end to end.
type ledgerModel struct {
	l     *Ledger
	model []Block
}

// holder returns the block that p is in.
func (m *ledgerModel) holder(p uintptr) *Block {
	i := slices.IndexFunc(m.model, func(b Block) bool { return p >= b.Start && p < b.Start+b.Bytes })
	if i < 0 {
		return nil
	}
	return &m.model[i]
}

func (m *ledgerModel) add(t *rapid.T) {
	b := Block{Start: uintptr(rapid.IntRange(1, 60).Draw(t, "start")) * 16,
		Bytes: uintptr(rapid.IntRange(1, 40).Draw(t, "bytes"))}
	for _, o := range m.model {
		if b.Start < o.Start+o.Bytes && o.Start < b.Start+b.Bytes {
			t.Skip("overlaps")
		}
	}
	m.l.Add(b)
	m.model = append(m.model, b)
}

// draw returns an address and a size, those of a block half of the time.
func (m *ledgerModel) draw(t *rapid.T) (p, n uintptr) {
	if len(m.model) > 0 && rapid.Bool().Draw(t, "right") {
		b := m.model[rapid.IntRange(0, len(m.model)-1).Draw(t, "which")]
		return b.Start, b.Bytes
	}
	return uintptr(rapid.IntRange(0, 1100).Draw(t, "p")), uintptr(rapid.IntRange(1, 40).Draw(t, "n"))
}

func (m *ledgerModel) take(t *rapid.T) {
	p, n := m.draw(t)
	want, b := status.OK, m.holder(p)
	switch {
	case b == nil:
		want = status.UnknownPointer
	case p != b.Start:
		want = status.InteriorPointer
	case n != b.Bytes:
		want = status.InvalidArgument
	}
	got, err := m.l.Take(p, n)
	require.Equal(t, want, StatusOf(err), "%v", err)
	if want == status.OK {
		require.Equal(t, *b, got)
		m.model = slices.DeleteFunc(m.model, func(o Block) bool { return o.Start == p })
	}
}

func (m *ledgerModel) find(t *rapid.T) {
	p, n := m.draw(t)
	want, b := status.OK, m.holder(p)
	switch {
	case b == nil:
		want = status.UnknownPointer
	case p+n > b.Start+b.Bytes:
		want = status.InvalidArgument
	}
	_, err := m.l.Find(p, n)
	require.Equal(t, want, StatusOf(err), "%v", err)
}

func (m *ledgerModel) after(t *rapid.T) {
	p, _ := m.draw(t)
	var want Block
	for _, o := range m.model {
		if o.Start >= p && (want == Block{} || o.Start < want.Start) {
			want = o
		}
	}
	got, found := m.l.After(p)
	require.Equal(t, want, got)
	require.Equal(t, want != Block{}, found)
}

func (m *ledgerModel) sums(t *rapid.T) {
	var sum uintptr
	for _, o := range m.model {
		sum += o.Bytes
	}
	blocks, bytes := m.l.Outstanding()
	require.Equal(t, len(m.model), blocks)
	require.Equal(t, sum, bytes)
}

func TestLedgerIsThatOfAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := ledgerModel{l: NewLedger("test")}
		t.Repeat(map[string]func(*rapid.T){"add": m.add, "take": m.take, "find": m.find, "after": m.after, "": m.sums})
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
	for _, name := range []string{"", "CPU", "cuda:", "cuda:-1", "cuda:00", "cuda:0:1", "0", "cuda:12345", "ä:0",
		"a\x00b"} {
		_, _, err := ParseName(name)
		require.Equal(t, status.InvalidArgument, StatusOf(err), "%q", name)
	}
}
