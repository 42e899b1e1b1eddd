package object

import (
	"fmt"
	"strings"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

// Text names the sentence that tells an error; the context keeps its number and
// the values, and Message renders it when somebody asks.
type Text uint32

const (
	textStatus        Text = layout.TextStatus
	textOutside       Text = layout.TextOutside
	textInterior      Text = layout.TextInterior
	textDead          Text = layout.TextDead
	textUnused        Text = layout.TextUnused
	textRuntime       Text = layout.TextRuntime
	textDeadStack     Text = layout.TextDeadStack
	textOtherStack    Text = layout.TextOtherStack
	textNotRegistered Text = layout.TextNotRegistered
	textMisaligned    Text = layout.TextMisaligned
	textNotMalloc     Text = layout.TextNotMalloc
	textUnreadable    Text = layout.TextUnreadable
	textNotABlock     Text = layout.TextNotABlock
	textInsideBlock   Text = layout.TextInsideBlock
	textReferenced    Text = layout.TextReferenced
	textRefDead       Text = layout.TextRefDead
	textRefReused     Text = layout.TextRefReused
	textRefZero       Text = layout.TextRefZero
)

// sentences are the texts: first those that C knows, by number, then Go's own.
var sentences = append(make([]string, 0, 160), (&[layout.Texts]string{
	textOutside: "%#x is an address that the runtime never gave out and nobody registered; pass a pointer from " +
		"tl_mem_* or register it first",
	textInterior: "%#x is %d bytes inside a %d-byte slot that starts at %#x; use the start",
	textDead: "%#x is the start of an object that was released already; forget a pointer when you give up its " +
		"last reference",
	textUnused:        "%#x lies in the runtime's heap, where no object is; the pointer is stale or was computed wrongly",
	textRuntime:       "%#x lies in the runtime's own bookkeeping; no user pointer points there",
	textDeadStack:     "%#x is arena or frame memory beyond the live end: its scope, function or arena has ended",
	textOtherStack:    "%#x is arena or frame memory of another thread (context %d); copy the data out before handing it over",
	textNotRegistered: "%#x is live, but no scope of this function has it registered; nothing was done",
	textReferenced:    "%#x still has %d references; release them, or bring the count to zero with tl_ptr_dec_ref",
	textMisaligned:    "%#x is not aligned to %d bytes, so malloc cannot have returned it",
	textNotMalloc:     "%#x is outside the addresses that malloc returns",
	textUnreadable:    "%#x is not memory that this process can read, so malloc cannot have returned it",
	textNotABlock:     "%#x is not where a block of malloc's starts; register the address that malloc has returned",
	textInsideBlock:   "%#x lies inside a block that is registered already; register its start",
	textRefDead:       "the object of the reference %#x was released already; forget a reference when you release it",
	textRefReused: "the object of the reference %#x was released already, and its memory belongs to another object now; " +
		"forget a reference when you release it",
	textRefZero: "nobody holds the object of the reference %#x: tl_ptr_dec_ref brought it to zero (tl_mem_free frees it)",
})[:]...)

// text is a sentence of Go's alone.
func text(sentence string) Text {
	sentences = append(sentences, sentence)
	return Text(len(sentences) - 1)
}

// Texts of this package and of those that use its contexts.
var (
	textPlain = text("") // a text that was made on the spot
	textFreed = text("%#x lies in the runtime's heap, where every object was released; forget a pointer when you " +
		"give up its last reference")
	textFloats = text("%#x has 15 floating references already; register or release some before unregistering more")
	textZero   = text("%#x has no holder: tl_ptr_dec_ref brought it to zero (tl_mem_free frees it), or it is " +
		"tl_aligned_alloc's and not registered")
	textTable       = text("%#x could not be registered: the table cannot grow, the system refused memory")
	textNodes       = text("%#x could not be handed to its owner: no inbox node is left; its owner should make a call")
	textNotOwner    = text("%#x belongs to context %d; only its owner can turn bias off")
	textCopyOut     = text("%#x is live arena or frame memory, which ends with its scope; copy it out instead of unregistering it")
	textReallocZero = text("%#x cannot have 0 bytes; release it instead")
	textReallocKind = text("%#x is not a heap object of plain bytes; typed objects, Vecs, tensors, stack and foreign memory keep " +
		"their size")
	textReallocShared = text("%#x would have to move, and references are held that this thread's scopes do not account for; allocate and " +
		"copy")
	textNoScope       = text("no scope is open in this thread; every tl_mem_exit_scope needs its tl_mem_enter_scope")
	textFunctionScope = text("the newest scope belongs to a function; leave it with tl_mem_function_exit")
	textPlannedOpen   = text("a planned frame was opened in this scope and is open still; close it with tl_mem_frame_exit")
	textDepth         = text("there is no depth %d to go back to: %d scopes are open")
	textScopeFull     = text("the scope stack of this thread is full (%d entries); leave scopes, or raise TL_ARENA_BYTES")
	textMarksFull     = text("%d scopes are open in this thread, as many as fit; raise TL_ARENA_BYTES")
	textAlloc         = text("")                                     // made by package limit
	TextTables        = text("the system refuses memory for tables") // of bookkeeping
	textShort         = text("what Go keeps in reserve is nearly used up, and the system refuses it more (RLIMIT_AS, " +
		"RLIMIT_DATA); release memory or raise the limit")
	textNoFunction    = text("no function frame is open; call tl_mem_function_enter first")
	textNoPlanned     = text("no planned frame is open in this function; every tl_mem_frame_exit needs its tl_mem_frame_enter")
	textSlotRange     = text("slot %d is not one of the %d of this function")
	textNegative      = text("%d is negative; sizes, counts and offsets are not")
	textSlots         = text("a function has at most %d slots, not %d")
	textFrameFull     = text("%v bytes do not fit into the frame stack: %v of %v bytes are in use; raise TL_ARENA_BYTES")
	textArenaFull     = text("%d bytes do not fit into the arena: %d of %d bytes are in use")
	textNoArena       = text("no arena is active; call tl_arena_init first")
	textArenaActive   = text("an arena of %d bytes would be smaller than the %d bytes in use")
	textArenaCapacity = text("an arena of %d bytes is more than the %d that TL_ARENA_BYTES reserves")
	textArenaOffset   = text("offset %d is not between 0 and the live offset %d")
	textTypeSize      = text("a type has 1 to %[2]d bytes, not %[1]d")
	textTypeOffset    = text("pointer offset %v does not fit into a type of %v bytes, or is not a multiple of 8")
	textTypeUnknown   = text("type %d was not defined")
	textTypeTwice     = text("pointer offset %v is given twice")
	textTypeFull      = text("%d types are defined, as many as there can be")
	textNotVec        = text("%#x is not a Vec; make one with tl_vec_new")
	textVecIndex      = text("index %d is not below the length %d")
	textVecEmpty      = text("%#x is a Vec without elements; ask tl_vec_len before taking one out")
	textVecSize       = text("a Vec of %v elements is too large")
	textOpenScopes    = text("another thread has scopes open; shut down when it has left them")
	// texts of package debug
	TextRedZone = text("%#x: byte %d behind its %d bytes was written to")
	TextPoison  = text("%#x was released, and written to afterwards: at byte %d")
	TextBefore  = text("%#x: byte %d before its start was written to")
	TextNoDebug = text("there are no red zones to look at; start the program with TL_DEBUG=1")
	// texts of package track
	TextTags  = text("%d tags are pushed already; pop them with tl_tag_pop")
	TextNoTag = text("no tag is pushed in this thread; every tl_tag_pop needs its tl_tag_push")
	// texts of package tensor
	TextTensorKind = text("%#x is an object, but not a tensor")
	TextRank       = text("rank %d is not between 0 and %d")
	TextShape      = text("extent %d of axis %d is negative, or the product of the shape overflows")
	TextDtype      = text("dtype %d is not one of TL_DTYPE_*")
	TextDevice     = text("device %d is not available; 0 is the CPU")
	TextStrides    = text("stride %d of axis %d is negative or overflows the address space")
	TextNullData   = text("data is NULL for %d elements")
	TextAxis       = text("axis %d is not below the rank %d")
	TextPoolKey    = text("a tensor of %d elements, dtype %d does not go under the key given")
	TextPoolShared = text("%#x still has %d references; only the last holder gives a tensor to the pool")
	TextNotTensor  = text("%#x is not a tensor of the runtime")
	TextNotSparse  = text("%#x is not a sparse matrix; make one with tl_sparse_create or tl_sparse_from_csr") // of package sparse
	textNoRecord   = text("%#x is not an object of the runtime but registered, arena or frame memory, to which there are only " +
		"pointers")
	textNoRef       = text("%#x is no reference: no call of tl_ref_of or tl_weak_of can have returned it; pass a tl_ref, not a pointer")
	textNotUpgraded = text("%#x belongs to context %d, and only its thread upgrades this weak reference; make one for all " +
		"threads with tl_weak_share")
	textNoCell   = text("%#x is no cell; tl_cell_* take what tl_cell_new has returned")
	textCell     = text("%#x lies in the memory of the cell at %#x, which tl_cell_* alone take")
	textCellHeld = text("%#x is a cell with a count of %d; the holder of the only reference frees a cell")
	textCellType = text("type %d has a destructor, is a Vec's, has more than %d pointers, or 16 GiB or more; there are no cells " +
		"of such a type")
	textReadFreed = text("%#x was read from freed memory, which TL_DEBUG fills with 0xdd: an object was used after its last reference")
)

// Format puts values into a sentence.
func (t Text) Format(values ...any) string { return fmt.Sprintf(sentences[t], values...) }

// Fail records an error of the calling thread and returns its status. p is the
// pointer in question, 0 when there is none; details are what its text shows.
func (c *Context) Fail(st status.Status, kind Text, p uintptr, details ...uint64) status.Status {
	c.Error.Status, c.Error.Kind, c.Error.Pointer, c.Error.MessageReady = int32(st), uint32(kind), p, 0
	c.ErrorFunction = c.Error.Function
	c.Error.Detail = [3]uint64{}
	copy(c.Error.Detail[:], details)
	if process.debug != nil {
		c.Tracking.Pending |= pendingUse
		if isPoison(p) {
			c.Error.Kind = uint32(textReadFreed)
		}
	}
	if atomic.LoadUint32(&process.g.OnError) != 0 && c.ErrorPending == 0 {
		c.ErrorPending = 1
	}
	return st
}

// isPoison tells whether an address was read from an object that TL_DEBUG has filled (package debug), or lies somewhat
// behind one.
func isPoison(p uintptr) bool { return p>>16 == 0xdddddddddddd }

// null records that a NULL result is right.
func (c *Context) null() uintptr {
	c.Error.Status, c.Error.Kind, c.Error.MessageReady = 0, uint32(textStatus), 0
	return 0
}

// failAlloc records that an object of n bytes could not be had; 0: no object, tables.
func (c *Context) failAlloc(st status.Status, n uint64) uintptr {
	if n == 0 {
		c.Fail(st, TextTables, 0)
		return 0
	}
	c.Fail(st, textAlloc, 0, n)
	c.Short(limit.CPU, n)
	return 0
}

// FailShort records that Go itself is short of memory.
func (c *Context) FailShort() status.Status { return c.Fail(status.OutOfMemory, textShort, 0) }

// finding is what an address turned out to be, as an error tells it.
type finding struct {
	status  status.Status
	kind    Text
	details [3]uint64
}

// finding tells of a place where no live object starts.
func (at place) finding(p uintptr) finding {
	switch at.where {
	case inRuntime:
		return finding{status: status.UnknownPointer, kind: textRuntime}
	case inDeadStack:
		return finding{status: status.NotLive, kind: textDeadStack}
	case inOtherStack:
		return finding{status.UnknownPointer, textOtherStack, [3]uint64{uint64(at.owner)}}
	case elsewhere:
		return finding{status: status.UnknownPointer, kind: textOutside}
	}
	cell, live := cellIn(at)
	switch at.Kind {
	case heap.Interior:
		if live {
			return finding{status.InteriorPointer, textCell, [3]uint64{uint64(cell)}}
		}
		if cell != 0 {
			return finding{status: status.InteriorPointer, kind: textNoCell}
		}
		return finding{status.InteriorPointer, textInterior,
			[3]uint64{uint64(p - at.Start), process.heap.Size(at.Start), uint64(at.Start)}}
	case heap.Live:
		if live {
			return finding{status.NotLive, textCell, [3]uint64{uint64(cell)}}
		}
		return finding{status: status.NotLive, kind: textZero}
	case heap.Freed:
		return finding{status: status.NotLive, kind: textFreed}
	case heap.Dead:
		if live {
			return finding{status.NotLive, textCell, [3]uint64{uint64(cell)}}
		}
		return finding{status: status.NotLive, kind: textDead}
	}
	return finding{status: status.UnknownPointer, kind: textUnused}
}

// failPlace records the error for a pointer at which no live object starts.
func (c *Context) failPlace(p uintptr, at place) status.Status {
	f := at.finding(p)
	return c.Fail(f.status, f.kind, p, f.details[:]...)
}

// Message renders the last error into the context's buffer, zero-terminated, and
// returns it; "" after a success.
func (c *Context) Message() string {
	if c.Error.MessageReady == 0 {
		n := copy(c.Context.Error.Message[:layout.MessageBytes-1], c.render())
		c.Context.Error.Message[n] = 0
		c.Error.MessageReady = 1
	}
	n := 0
	for n < layout.MessageBytes-1 && c.Context.Error.Message[n] != 0 {
		n++
	}
	return string(c.Context.Error.Message[:n])
}

// Failf is Fail with a text that is made on the spot.
func (c *Context) Failf(st status.Status, format string, args ...any) status.Status {
	c.Fail(st, textPlain, 0)
	n := copy(c.Context.Error.Message[:layout.MessageBytes-1], c.prefix()+": "+fmt.Sprintf(format, args...))
	c.Context.Error.Message[n] = 0
	c.Error.MessageReady = 1
	return st
}

func (c *Context) render() string {
	if process.debug == nil || c.Error.Status == 0 {
		return c.Sentence()
	}
	return c.Sentence() + process.debug.Sites(c, c.Error.Pointer)
}

// Sentence is what went wrong, without the sites.
func (c *Context) Sentence() string {
	st := status.Status(c.Error.Status)
	if st == status.OK {
		return ""
	}
	kind := Text(c.Error.Kind)
	if kind == textAlloc {
		return c.prefix() + ": " + limit.Sentence(limit.CPU, c.Error.Detail[0], refuser(st))
	}
	if kind == textStatus || sentences[kind] == "" {
		kind = c.explain()
	}
	format := sentences[kind]
	if format == "" {
		return c.prefix()
	}
	return c.prefix() + ": " + kind.Format(c.values(format)...)
}

// values returns what a sentence shows: the pointer where it begins with one, then details.
// Numbers that stand in it as %d, such as indices and depths, may be negative; sizes and
// ids, %v, are not.
func (c *Context) values(format string) []any {
	var values []any
	details := c.Error.Detail[:]
	for i, verb := range strings.Split(format, "%")[1:] {
		if i == 0 && strings.HasPrefix(format, "%#x") {
			values = append(values, c.Error.Pointer)
			continue
		}
		if verb[0] == 'd' {
			values = append(values, int64(details[0]))
		} else {
			values = append(values, details[0])
		}
		details = details[1:]
	}
	return values
}

// prefix names the function and the status.
func (c *Context) prefix() string {
	text := status.Status(c.Error.Status).String()
	if name := status.Function(c.ErrorFunction); name != "" {
		return name + ": " + text
	}
	return text
}

// refuser tells who did not give the memory of an object.
func refuser(st status.Status) string {
	if st == status.Limit {
		return "more than a limit allows"
	}
	return "the system or TL_HEAP_RESERVE refuses them"
}

// explain finds the text for an error of C's that keeps only status and pointer, where Go alone
// knows what the pointer is.
func (c *Context) explain() Text {
	st, p := status.Status(c.Error.Status), c.Error.Pointer
	if p == 0 || st != status.UnknownPointer && st != status.InteriorPointer && st != status.NotLive {
		return textStatus
	}
	f := c.locate(p).finding(p)
	c.Error.Kind, c.Error.Detail = uint32(f.kind), f.details
	return f.kind
}
