package stats

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/tensor"
)

// Type counts the objects of a type that the program has defined.
type Type struct {
	Type uint32 `json:"type"` // the tl_type
	Name string `json:"name"`
	Count
	Blocks     uint64 `json:"blocks"` // of malloc's, registered with the type and live; they count as foreign
	BlockBytes uint64 `json:"block_bytes"`
}

func typed(types []object.TypeStats) []Type {
	out := make([]Type, 0, len(types))
	blocks := object.ReadBlocks()
	for i := range types {
		t := &types[i]
		b := blocks[t.Type]
		out = append(out, Type{t.Type, t.Name, count(t.Allocations, t.Live(), t.Bytes), b.Live, b.Bytes})
	}
	return out
}

// Class counts the slots of a size class. Allocations are slots handed out; with the
// hits of the tensor pool, which hand none out, they sum up to those of the total, and
// so do frees. A slot whose tensor the pool keeps was freed.
type Class struct {
	SlotBytes uint64 `json:"slot_bytes"` // 0: large objects, each on pages of its own
	Count
	Kept uint64 `json:"kept"` // slots of tensors that the tensor pool keeps
	Free uint64 `json:"free"` // slots of memory that is reserved for the class
	Held uint64 `json:"held"` // bytes of that memory
}

func classes(all *object.Stats) []Class {
	kept, keptBytes := keptSlots()
	out := make([]Class, 0, 8)
	for class := 1; class < layout.ClassRest; class++ {
		k := &all.Classes[class]
		if k.Allocations == 0 && k.Held == 0 {
			continue
		}
		n := min(kept[class], k.Live())
		c := Class{SlotBytes: k.Size, Kept: n, Free: k.Free, Held: k.Held}
		c.Count = Count{k.Allocations, k.Frees + n, k.Live() - n, k.Bytes - min(k.Bytes, keptBytes[class])}
		out = append(out, c)
	}
	return out
}

// keptSlots counts what the tensor pool keeps by size class.
func keptSlots() (slots, bytes [layout.Classes]uint64) {
	for _, k := range tensor.KeptSlots() {
		class := uint32(layout.ClassLarge)
		if small := layout.ClassOf(uintptr(k.SlotBytes)); small != 0 {
			class = small
		}
		slots[class] += k.Slots
		bytes[class] += k.Slots * k.SlotBytes
	}
	return slots, bytes
}

// Device is the memory that is held of one device: reserved == in_use + cached. The
// names "total" and "own" are the sum of all, and that of memory pools over allocators
// of the program's own.
type Device struct {
	Device      string `json:"device"`
	Number      int32  `json:"number"` // TL_MEM_TOTAL and TL_MEM_OWN_ALLOCATORS are negative
	Reserved    uint64 `json:"reserved"`
	InUse       uint64 `json:"in_use"`
	Cached      uint64 `json:"cached"`
	Obtained    uint64 `json:"obtained"` // bytes ever reserved; obtained - returned == reserved
	Returned    uint64 `json:"returned"`
	Peak        uint64 `json:"peak"`
	PeakInUse   uint64 `json:"peak_in_use"`
	Allocated   uint64 `json:"allocated"` // bytes ever; allocated - freed == in_use
	Freed       uint64 `json:"freed"`
	Allocations uint64 `json:"allocations"` // objects and blocks of pools
	Frees       uint64 `json:"frees"`
	Live        uint64 `json:"live"`
	SoftLimit   uint64 `json:"soft_limit"` // 0 = none
	HardLimit   uint64 `json:"hard_limit"`
	Relieved    uint64 `json:"relieved"` // how often caches were asked to give memory up
	Failed      uint64 `json:"failed"`   // of them, how often that was not enough
	LargestFree uint64 `json:"largest_free_block"`
	// Of what is in use: objects whose last reference another thread has dropped, and which wait for their owner.
	WaitingBytes   uint64 `json:"waiting_bytes"`
	WaitingObjects uint64 `json:"waiting_objects"`
}

func devices() (out []Device) {
	for _, number := range limit.Accounts() {
		out = append(out, deviceOf(number))
	}
	return out
}

func deviceOf(number int32) Device {
	f := limit.Read(number)
	d := Device{Device: limit.Name(number), Number: number, Reserved: f.Reserved, InUse: f.InUse, Cached: f.Cached,
		Obtained: f.Obtained, Returned: f.Obtained - f.Reserved, Peak: f.Peak, PeakInUse: f.PeakInUse,
		Allocated: f.Allocated, Freed: f.Allocated - f.InUse,
		Allocations: f.Allocations, Frees: f.Allocations - min(f.Allocations, f.Live), Live: f.Live,
		SoftLimit: f.Soft, HardLimit: f.Hard, Relieved: f.Relieved, Failed: f.Failed, LargestFree: f.LargestFree,
		WaitingBytes: f.Waiting, WaitingObjects: f.WaitingObjects}
	if number == limit.Own {
		d.Device = "own"
	}
	return d
}
