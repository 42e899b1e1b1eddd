// Package layout declares the memory that the two paths share: object records,
// span words, contexts, scope entries. It is the Go view of cshim/layout.h; the
// generated assertions in cshim fail the build when a size or an offset
// differs. It also holds what follows from the layout alone: size classes and
// the arithmetic of the packed words.
//
// All of it lives outside the Go heap. Addresses are uintptr and become
// pointers only in At.
package layout

// Geometry of the heap.
const (
	SpanShift  = 16
	SpanBytes  = 1 << SpanShift
	ClassNone  = 0
	ClassSmall = 72 // classes 1..72
	ClassLarge = 73
	ClassRest  = 74
	Classes    = 75
)

// record.loc = owner 12 | floats 4 | count 16.
const (
	LocOwnerShift = 20
	LocFloat      = 1 << 16
	LocFloats     = 0xF0000
	LocCount      = 0xFFFF
	OwnerNever    = 0xFFF00000
	MaxOwner      = 4094
	MaxFloats     = 15
)

// record.sh = count 22 signed | claims 2 | floats 4 | IMMORTAL | QUEUED | MERGED | ALIVE.
const (
	Alive      = 1
	Merged     = 2
	Queued     = 4
	Immortal   = 8
	ShFlags    = 15
	ShFloat    = 1 << 4
	ShOne      = 1 << 10
	ShClaimMax = 3
	ShCountMax = 0x1FFFFF
)

// record.type_flags = flags 8 | type 24.
const (
	TypeMask        = 0xFFFFFF
	TypePlain       = 0
	TypeVec         = 1
	TypeVecData     = 2
	TypeTensor      = 3
	TypeSparse      = 4
	TypeFirstUser   = 16
	RecordDestroyed = 0x01000000
	RecordBusy      = 0x02000000
)

// RecordBytes is the size of a Record.
const RecordBytes = 16

// GenOne is one generation: record.gen = generation 24 | class 8.
const GenOne = 0x100

// Foreign in Entry.Record marks a pointer of the registry.
const Foreign = 0xFFFFFFFF

// MessageBytes is the room for one rendered error message.
const MessageBytes = 2048

// MaxTags is how many tags a thread can have pushed.
const MaxTags = 32

// Values of Globals.LeakCheck.
const (
	LeakCheckOff    = 0
	LeakCheckReport = 1
	LeakCheckFail   = 2
)

// Modes of Globals.Tracking = epoch << 2 | mode.
const (
	TrackingOff    = 0
	TrackingSample = 1
	TrackingAll    = 2
	TrackingTrace  = 3 // all, and no call is answered by the fast path
	TrackingMode   = 3
	TrackingOne    = 4
)

// Record is the state of one heap slot, apart from its payload.
type Record struct {
	Loc       uint32 // written by the holder of the owner's context alone
	Sh        uint32 // compare and swap, but for the owner's alloc and free
	TypeFlags uint32
	Gen       uint32
}

// Entry is a reference held by a magazine or a scope. Object 0: taken out.
type Entry struct {
	Object uintptr
	Record uint32
	Gen    uint32
}

// EntryBytes is the size of an Entry.
const EntryBytes = 16

// Magazine is [Base, Top) of [Base, Limit) free objects of one class.
type Magazine struct {
	Top, Base, Limit uintptr
	Allocs           uint64
}

// KindCounters counts the slots of one kind that a context took and gave back, ever, and
// their bytes. Another context may give back what this one took: only sums over all
// contexts have a meaning.
type KindCounters struct {
	Made, Gone           uint64
	BytesMade, BytesGone uint64
}

// TypeCount is the same of one user type, whose bytes are those of its size class.
type TypeCount struct{ Made, Gone uint64 }

// TypeCountBytes is the size of a TypeCount.
const TypeCountBytes = 16

// Kinds is the number of KindCounters of a context: plain ... sparse.
const Kinds = 5

// ClassInfo is what classification needs to know of a size class.
type ClassInfo struct {
	Reciprocal uint64
	Mask       uint32
	Size       uint32
	Slots      uint32
	Padding    [3]uint32
}

// Kinds of Mark.
const (
	MarkScope     = 0
	MarkFunction  = 1
	MarkPlanned   = 2
	MarkKindShift = 30
	MarkSlots     = 0x1FFFFFFF
	MarkTagged    = 0x20000000 // a tag was pushed while this was the newest mark
)

// Mark is what was open when a scope, a function or a planned frame began.
type Mark struct {
	Entries, Arena, Frame uint64
	Kind                  uint32 // kind << 30 | tagged | slots
	Outer                 uint32 // 1 + index of the enclosing function's mark, 0 = none
}

// MarkBytes is the size of a Mark.
const MarkBytes = 32

// Slot is one buffer slot of a function frame.
type Slot struct {
	Buffer uintptr
	Bytes  uint64
}

// SlotBytes is the size of a Slot.
const SlotBytes = 16

// States of Context.Word = inbox << 2 | state.
const (
	CtxFree     = 0
	CtxActive   = 1
	CtxParked   = 2
	CtxBorrowed = 3
	CtxState    = 3
)

// Context is a thread's mutator state; its thread alone writes it, Word apart.
type Context struct {
	Owner, Id                       uint32
	AllocLoc, AllocSh               uint32
	NewLoc, NewSh                   uint32
	One                             uint32
	Top, End, Entries               uintptr
	MarkTop, MarkEnd, Marks         uintptr
	Planned, Floor, Function, Slots uint64
	SlotTable                       uintptr
	FrameBase, FrameTop, FrameEnd   uintptr
	ArenaBase, ArenaTop, ArenaEnd   uintptr
	Indexed, Holes                  uint64
	Index                           uintptr
	IndexMask                       uint64
	IndexPrev                       uintptr
	Self                            uintptr
	Word                            uint64
	CloseTarget                     uint64
	Unfinished, ErrorFunction       uint32
	InGo, Draining                  uint32
	DrainFrame                      uintptr
	DestroyFirst, DeleterFirst      uint32
	DestroyLast, DeleterLast        uint32
	Callback                        uintptr
	CallbackObject, CallbackContext uintptr
	CallbackArguments, ErrorPending uint32
	Skipped, Deferred               uint64
	ForeignAdopted, ForeignFreed    uint64
	TensorsMade, TensorsGone        uint64
	SlowCalls, Spare, PurgeSeen     uint64
	ShortOf, ShortAttempts          uint32
	ShortDevice                     int32
	ShortSpare                      uint32
	ShortBytes                      uint64
	SampleLeft                      uint64
	Sampled                         uintptr
	Pending, TrackingSeen           uint32
	Tags, UseSite                   uint32
	Damaged                         uint32
	CancelState                     int32
	Path                            uintptr
	DebugSpare                      [4]uint32
	TagNames, TagDepths             [MaxTags]uint32
	Status                          int32
	FunctionId                      uint32
	ErrorPointer                    uintptr
	ErrorDetail                     [3]uint64
	ErrorKind, MessageReady         uint32
	Message                         [MessageBytes]byte
	Kinds                           [Kinds]KindCounters
	Magazines                       [Classes]Magazine
	AllocsBefore                    [Classes]uint64
}

// TypeInfo is what the fast path knows of a type; Offsets are in units of 8 bytes.
type TypeInfo struct {
	Size                  uint64
	Offsets               uintptr
	Fields, HasDestructor uint32
}

// TypeInfoBytes is the size of a TypeInfo.
const TypeInfoBytes = 24

// Globals tells where everything is; written once, before the first context.
type Globals struct {
	HeapBase                      uintptr
	HeapBytes                     uint64
	Spans, Records, BlockMetadata uintptr
	SlicesBase                    uintptr
	SlicesBytes, SliceShift       uint64
	ArenaOffset, FrameOffset      uint64
	ArenaCapacity                 uint64
	Shards                        uintptr
	ShardMask                     uint64
	Pools                         uintptr
	Types                         uintptr
	Fast, OnError                 uint32
	Reap, Purge                   uint32
	Parked, CountedTypes          uint32
	Tracking                      uint32
	Classes                       [Classes]ClassInfo
	BlockMarks                    uintptr
	LeakCheck, Debug              uint32
	ShowStats, MemLog             uint32
}
