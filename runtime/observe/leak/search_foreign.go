package leak

import (
	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/registry"
)

// foreignSearch is the part of search that looks at registered pointers: they lead
// nowhere, unless they are blocks with a type, which are nodes like objects.
type foreignSearch struct {
	at    map[uintptr]*foreignNode
	order []uintptr
}

type foreignNode struct {
	registry.Info
	heap.SideValue // value: references that nothing explains yet
}

func (f *foreignSearch) find() {
	f.at = map[uintptr]*foreignNode{}
	object.Registry().Each(func(info registry.Info) bool {
		n := &foreignNode{Info: info, SideValue: heap.SideValue{Value: uint64(int64(info.Count) - int64(info.Floats))}}
		switch {
		case info.Count == layout.ForeignSticky:
			n.Flags = leakImmortal
		case info.Count == 0:
			n.Flags = leakZero
		case info.Floats > 0:
			n.Flags = leakFloating
		}
		f.at[info.Pointer] = n
		f.order = append(f.order, info.Pointer)
		return true
	})
}

func (n *foreignNode) isTyped() bool { return n.Link != 0 && n.Type >= layout.TypeFirstUser }

func (n *foreignNode) entry() layout.Entry {
	return layout.Entry{Object: n.Pointer, Record: layout.Foreign, Gen: n.Gen}
}

// typed calls visit with every block that has a type.
func (f *foreignSearch) typed(visit func(layout.Entry)) {
	for _, p := range f.order {
		if n := f.at[p]; n.isTyped() {
			visit(n.entry())
		}
	}
}

// explain takes one reference off the count of a pointer.
func (f *foreignSearch) explain(p uintptr, mark uint32) {
	if n := f.at[p]; n != nil {
		n.Flags |= mark
		n.Value--
	}
}

func (n *foreignNode) reason() Reason {
	if n.HandedBack {
		return HandedBack
	}
	return reasonOf(&n.SideValue)
}

// visitAll visits each block once, however many addresses it has.
func (f *foreignSearch) visitAll(visit func(Live)) {
	seen := map[uint32]bool{}
	for _, p := range f.order {
		n := f.at[p]
		live := Live{Ref: track.OfForeign(object.Registry(), n.Info), Address: p, Bytes: uint64(n.Bytes),
			Type: object.BlockTypeName(n.Info), Reason: n.reason()}
		if n.Link != 0 && !n.isTyped() {
			d, known := object.Registry().Outline(n.Info)
			if !known || seen[n.Link] {
				continue
			}
			seen[n.Link] = true
			f.ofBuffer(n, d, &live)
		}
		visit(live)
	}
}

// ofBuffer makes of what is known of one address of a shared block what is known of all.
func (f *foreignSearch) ofBuffer(n *foreignNode, d registry.Described, live *Live) {
	live.Bytes, live.Type = uint64(d.Bytes), registry.OfKind("buffer", d.Kind)
	if own := f.at[d.Real]; own != nil && own.Link == n.Link {
		live.Address, live.Reason = d.Real, own.reason()
	} else if IsLeak(live.Reason) {
		live.Reason = Aliases
	}
}
