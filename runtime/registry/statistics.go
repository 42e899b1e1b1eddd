package registry

import (
	"fmt"
	"strings"

	"tlruntime/runtime/layout"
)

var kindNames = map[uint8]string{
	layout.ForeignMalloc: "malloc", layout.ForeignNewArray: "new[]", layout.ForeignNewScalar: "new",
	layout.ForeignAligned: "aligned", layout.ForeignCustom: "custom",
}

// OfKind says of what kind foreign memory is: "memory of malloc", "buffer with a deleter".
func OfKind(what string, kind uint8) string {
	if kind == layout.ForeignCustom {
		return what + " with a deleter"
	}
	return what + " of " + kindNames[kind]
}

// Report writes the statistics of the registry, one line each.
func (t *Table) Report() string {
	var out strings.Builder
	row := func(what string, value any) { fmt.Fprintf(&out, "  %-44s %12v\n", what, value) }
	sum := t.Totals()
	live := sum.Pointers - sum.HandedBack - sum.Zeros
	out.WriteString("registry of foreign memory\n")
	row("addresses registered", live)
	row("bytes", sum.Bytes)
	row("shared buffers", sum.SharedBlocks)
	for kind, n := range t.kinds() {
		if n > 0 {
			row("addresses of kind "+kindNames[uint8(kind)], n)
		}
	}
	row("handed back to the host", sum.HandedBack)
	row("known, and held by nobody", sum.Zeros)
	row("memory of the tables, bytes", sum.Memory)
	if sum.Pointers > 0 {
		row("memory an address, bytes", sum.Memory/sum.Pointers)
	}
	least, most := t.load()
	row("shards", len(t.shards))
	row("units in use, least and most of a shard", fmt.Sprint(least, " ", most))
	return out.String()
}

// kinds counts live addresses by kind.
func (t *Table) kinds() (n [layout.ForeignCustom + 1]uint64) {
	t.Each(func(info Info) bool {
		if info.Count > 0 && !info.HandedBack && int(info.Kind) < len(n) {
			n[info.Kind]++
		}
		return true
	})
	return n
}

// load returns how evenly the shards are filled.
func (t *Table) load() (least, most uint32) {
	least = ^uint32(0)
	for i := range t.shards {
		s := &t.shards[i]
		lock(s)
		least, most = min(least, s.Used), max(most, s.Used)
		unlock(s)
	}
	return least, most
}
