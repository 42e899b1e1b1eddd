package stats

import (
	"cmp"
	"slices"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/figures"
	"tlruntime/runtime/tensor"
)

func typed(types []object.TypeStats) []figures.Type {
	out := make([]figures.Type, 0, len(types))
	blocks := object.ReadBlocks()
	for i := range types {
		t := &types[i]
		b := blocks[t.Type]
		out = append(out, figures.Type{Type: t.Type, Name: t.Name, Count: count(t.Allocations, t.Live(), t.Bytes),
			Blocks: b.Live, BlockBytes: b.Bytes})
	}
	return out
}

// classes has one entry for slots of one size, of objects and of cells.
func classes(all *object.Stats) []figures.Class {
	kept, keptBytes := keptSlots()
	out := make([]figures.Class, 0, 8)
	for class := 1; class < layout.ClassRest; class++ {
		k := &all.Classes[class]
		if k.Allocations == 0 && k.Held == 0 {
			continue
		}
		n := min(kept[class], k.Live())
		c := figures.Class{SlotBytes: k.Size, Kept: n, Free: k.Free, Held: k.Held}
		c.Count = count(k.Allocations, k.Live()-n, k.Bytes-min(k.Bytes, keptBytes[class]))
		out = append(out, c)
	}
	// Large objects have size 0; minus 1 it wraps, so that they come last.
	slices.SortFunc(out, func(a, b figures.Class) int { return cmp.Compare(a.SlotBytes-1, b.SlotBytes-1) })
	for i := len(out) - 1; i > 0; i-- {
		if to, from := &out[i-1], out[i]; to.SlotBytes == from.SlotBytes {
			sum := &to.Count
			*sum = count(sum.Allocations+from.Allocations, sum.Live+from.Live, sum.Bytes+from.Bytes)
			to.Kept, to.Free, to.Held = to.Kept+from.Kept, to.Free+from.Free, to.Held+from.Held
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// keptSlots counts what the tensor pool keeps by size class.
func keptSlots() (slots, bytes [layout.Classes]uint64) {
	for size, n := range tensor.KeptSlots() {
		class := uint32(layout.ClassLarge)
		if small := layout.ClassOf(uintptr(size)); small != 0 {
			class = small
		}
		slots[class] += n
		bytes[class] += n * size
	}
	return slots, bytes
}

func devices() (out []figures.Device) {
	for _, number := range limit.Accounts() {
		out = append(out, deviceOf(number))
	}
	return out
}

func deviceOf(number int32) figures.Device {
	f := limit.Read(number)
	d := figures.Device{Device: limit.Name(number), Number: number, Reserved: f.Reserved, InUse: f.InUse,
		Cached:   f.Cached,
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
