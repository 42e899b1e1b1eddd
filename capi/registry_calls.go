package main

import (
	"slices"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

const pointerBytes = 8

func checkArray(o *object.Context, array, n uintptr) status.Status {
	if n > 0 && (!usable(array) || n > layout.ForeignBytes/pointerBytes) {
		return fail(o, status.InvalidArgument, "an array of %d values is needed; %#x is none", n, array)
	}
	return status.OK
}

// roomFor refuses a call whose copy of the caller's values would end the process, as Go
// does without memory.
func roomFor(o *object.Context, n uintptr) status.Status {
	const copies = 3
	if !memory.Obtainable(uint64(n) * copies * pointerBytes) {
		return fail(o, status.OutOfMemory, "the system refuses the memory for %d values", n)
	}
	return status.OK
}

// addresses reads an array of n pointers of the caller's.
func addresses(o *object.Context, array, n uintptr) ([]uintptr, status.Status) {
	if st := checkArray(o, array, n); st != status.OK {
		return nil, st
	}
	if st := roomFor(o, n); st != status.OK {
		return nil, st
	}
	values := make([]uintptr, n)
	for i := range n {
		values[i] = load[uintptr](array + i*pointerBytes)
	}
	return values, status.OK
}

func registerBuffer(o *object.Context, b object.ForeignBlock, aliases, n uintptr, kind int32,
	out uintptr) status.Status {
	if !optional(out) {
		return fail(o, status.InvalidArgument, "buffer_id is neither NULL nor an address")
	}
	names, st := addresses(o, aliases, n)
	if st != status.OK {
		return st
	}
	id, st := o.RegisterBuffer(b, names, kind)
	if st == status.OK {
		storeWanted(out, id)
	}
	return st
}

func registerMany(o *object.Context, pointers, bytes, n uintptr, kind int32) status.Status {
	blocks, st := addresses(o, pointers, n)
	if st != status.OK {
		return st
	}
	sizes, st := addresses(o, bytes, n)
	if st != status.OK {
		return st
	}
	return o.RegisterMany(uint64(n), func(i uint64) (p, bytes uintptr) { return blocks[i], sizes[i] }, kind)
}

// unregisterMany copies the array first, since it may be one of the blocks. If
// there is no memory for the copy it reads the array itself, because a release
// must not fail for lack of memory.
func unregisterMany(o *object.Context, pointers, n uintptr) (dropped uintptr) {
	if checkArray(o, pointers, n) != status.OK {
		return 0
	}
	blocks := layout.Slice[uintptr](pointers, uint64(n))
	if memory.Obtainable(uint64(n) * pointerBytes) {
		blocks = slices.Clone(blocks)
	}
	for _, p := range blocks {
		if o.ReleaseForeign(p) == status.OK {
			dropped++
		}
	}
	return dropped
}

func registryInfo(o *object.Context, pointer, out uintptr) status.Status {
	d, st := o.Describe(pointer)
	if st != status.OK {
		return st
	}
	return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
		return withType(pointer, describedInfo(pointer, d))
	})
}

// withType adds the name of a type to what is known of a block that was registered with one.
func withType(p uintptr, info tl_alloc_info) tl_alloc_info {
	if block, live := object.Registry().TypedAt(p); live {
		info.Type = track.NameAddress(track.Intern(object.BlockTypeName(block.Info)))
	}
	return info
}

func numPointers() uintptr {
	sum := object.Registry().Totals()
	return uintptr(sum.Pointers - min(sum.Pointers, sum.HandedBack+sum.Zeros))
}

func createWorkspace(o *object.Context, threads, bytes, alignment, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "there is no out_workspace to fill in")
	}
	w := o.NewWorkspace(threads, bytes, alignment)
	store(out, w)
	if w == 0 {
		return status.Status(o.Status)
	}
	return status.OK
}

func printRegistry(o *object.Context, path uintptr) status.Status {
	report := object.Registry().Report()
	if path == 0 {
		output.TellText(report)
		return status.OK
	}
	name, st := textOf(o, path, "path")
	if st != status.OK {
		return st
	}
	if err := output.WriteText(name, report); err != nil {
		return fail(o, status.InvalidArgument, "the statistics could not be written: %v", err)
	}
	return status.OK
}
