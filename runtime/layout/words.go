package layout

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// SpanWord packs what classification needs to know of a span; back is below 2^24.
func SpanWord(class, record, back uint32) uint64 {
	return uint64(class) | uint64(back)<<8 | uint64(record)<<32
}

// SpanClass, SpanRecord and SpanBack unpack a span word. Back is the distance
// in spans to the first span of a large object, and there the number of its spans.
func SpanClass(w uint64) uint32  { return uint32(w & 0xFF) }
func SpanRecord(w uint64) uint32 { return uint32(w >> 32) }
func SpanBack(w uint64) uint32   { return uint32(w) >> 8 }

// Sh is record.sh unpacked.
type Sh struct {
	Count  int32 // 22 bits, signed: releases may be seen before the acquires they answer
	Claims int32 // floats of the local word that others have taken, at most 3
	Floats int32 // made by threads that are not the owner, at most 15
	Flags  uint32
}

// UnpackSh reads a shared word.
func UnpackSh(w uint32) Sh {
	return Sh{
		Count:  int32(w) >> ShCountShift,
		Claims: int32(w & ShClaimMask >> ShClaimShift),
		Floats: int32(w & ShFloatMask >> ShFloatShift),
		Flags:  w & ShFlags,
	}
}

// Pack writes a shared word.
func (s Sh) Pack() uint32 {
	return uint32(s.Count)<<ShCountShift | uint32(s.Claims)<<ShClaimShift | uint32(s.Floats)<<ShFloatShift | s.Flags
}

// Has reports whether all of the flags are set.
func (s Sh) Has(flags uint32) bool { return s.Flags&flags == flags }

// LocOwner, LocCountOf and LocFloatsOf unpack record.loc.
func LocOwner(w uint32) uint32    { return w >> LocOwnerShift }
func LocCountOf(w uint32) uint32  { return w & LocCount }
func LocFloatsOf(w uint32) uint32 { return w & LocFloats / LocFloat }

// NextGen returns the generation of a slot's next life; false: gen was the last, and the slot is never used again.
func NextGen(gen uint32) (uint32, bool) { return gen + GenOne, gen < GenLast }

// ClassOf returns the size class of a request, 0 when it needs a large object.
// Classes step by 32 bytes up to 512 and by eighths of a power of two above:
// at most 12.5 % is lost, and every multiple of 64 gets a class that is one.
func ClassOf(n uintptr) uint32 {
	if n <= 512 {
		return uint32((n + 31) / 32)
	}
	if n > MaxSmall {
		return 0
	}
	e := uint32(bits.Len64(uint64(n-1))) - 1
	return 17 + (e-9)*8 + uint32((n-1)>>(e-3))&7
}

// MaxSmall is the largest request that a size class serves.
const MaxSmall = 64 << 10

// CellClassOf returns the size class of a plain cell of n bytes, 0 when it gets the slot of an object.
func CellClassOf(n uintptr) uint32 {
	if n > CellMostBytes {
		return 0
	}
	last := n + CellHeadBytes - 1
	if last < cellsByStep {
		return ClassCell + uint32(last/CellStep)
	}
	e := uint32(bits.Len64(uint64(last))) - 1
	return ClassCell + cellsByStep/CellStep + (e-8)*4 + uint32(last>>(e-2))&3
}

// cellsByStep bytes are the largest class of cells that is CellStep above the one before. Those above it are quarters
// of powers of two.
const cellsByStep = 256

// IsCellClass tells whether the slots of a class are cells, each with its head in front.
func IsCellClass(class uint32) bool { return class-ClassCell < ClassLarge-ClassCell }

// slabBytes is the unit in which a class takes memory: one span while at least
// eight objects fit, eight spans above, so that little is left over.
func slabBytes(size uint32) uint32 {
	if size <= 8192 {
		return SpanBytes
	}
	return 8 * SpanBytes
}

// classSize inverts ClassOf: the largest request of a class. Of a class of cells it is what they take with their head.
func classSize(class uint32) uint32 {
	if IsCellClass(class) {
		const steps = cellsByStep / CellStep
		if n := class - ClassCell; n < steps {
			return (n + 1) * CellStep
		}
		quarter := class - ClassCell - steps
		return (5 + quarter%4) << (6 + quarter/4)
	}
	if class <= 16 {
		return class * 32
	}
	step, eighth := (class-17)/8, (class-17)%8
	return (8 + eighth + 1) << (9 + step - 3)
}

// FillClasses writes the class table.
//
//	offset * reciprocal = record * 2^64 + rest, and p leads to that record iff rest < reciprocal
//
// with reciprocal = ceil(2^64 / stride): one multiplication gives quotient and
// divisibility (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
// Where a span has one object, reciprocal 1 lets offset 0 alone pass. A slot with a line of records
// has one for each quarter: only the first is ever used, and the others are dead.
func FillClasses(t *[Classes]ClassInfo) {
	for class := uint32(1); class < ClassLarge; class++ {
		size := classSize(class)
		slab, step := slabBytes(size), uint32(1)
		if size >= LineSlotBytes && !IsCellClass(class) {
			step = LineRecords
		}
		t[class] = ClassInfo{Reciprocal: math.MaxUint64/uint64(size/step) + 1, Mask: uint64(slab - 1), Size: size,
			Slots: slab / size, Stride: size / step, BlockRecords: slab / size * step}
	}
	for _, class := range []uint32{ClassNone, ClassLarge, ClassRest} {
		t[class] = ClassInfo{Reciprocal: 1, Mask: SpanBytes - 1, Slots: 1, BlockRecords: 1}
	}
}

// Step returns how many records lie between those of two neighbours.
func (k *ClassInfo) Step() uint32 { return k.BlockRecords / k.Slots }

// TellRoom has the header of a tensor that grows say how many bytes it may have, with a sum by which
// cshim/tensor/grow.c and TellsRoom know that nobody has written over it.
func (h *TensorHeader) TellRoom(room uintptr) {
	atomic.StoreUintptr(&h.DeleterContext, room)
	h.Base = h.Data ^ room ^ TensorMark
}

// TellsRoom is whether the header says so many bytes, and its sum is right.
func (h *TensorHeader) TellsRoom(room uintptr) bool {
	return atomic.LoadUintptr(&h.DeleterContext) == room && h.Base == h.Data^room^TensorMark
}
