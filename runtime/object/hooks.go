package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// What this package asks of those above, which it does not import. They hand themselves over when they are linked in.
var (
	tensors  Tensors
	recorder Recorder
	leftOpen func(c *Context)
)

// Tensors is package tensor.
type Tensors interface {
	// Keep puts a dead tensor of a device to rest; false when it has to be taken apart.
	Keep(r *layout.Record, e layout.Entry) bool
	// IsWhole tells whether a tensor has nothing to end but its slot.
	IsWhole(object uintptr) bool
	// Deleter returns what has to be called when a tensor dies: f(data, context); 0 = nothing.
	Deleter(object uintptr) (f, data, context uintptr)
	// Dismantle releases the storage that a view shares.
	Dismantle(c *Context, object uintptr)
	// OwnBytes returns the bytes of a tensor's elements, its header's if they are another's. room is that of its slot.
	OwnBytes(p uintptr, room uint64) uint64
	// DeviceName returns the device that a tensor has memory on, "" for the CPU.
	DeviceName(p uintptr) string
}

// Recorder is package observe/track. All but Open are called while allocations are recorded (Globals.Tracking),
// those behind Retracted while a trace runs.
type Recorder interface {
	// Open fills what the fast path needs, before the first context exists.
	Open(g *layout.Globals) status.Status
	// NextBytes and NextObject draw after how many bytes, and which of the coming objects of
	// so many bytes, is the next sample.
	NextBytes() uint64
	NextObject(size uint64) uint64
	// Object records an object that was drawn by so many bytes, Foreign a registered block.
	Object(c *Context, e layout.Entry, bytes, drawn uint64)
	Foreign(c *Context, p uintptr, bytes uint64)
	// Resized tells that other bytes are asked of an object, Retracted that the call takes
	// back a block that it has registered.
	Resized(c *Context, e layout.Entry, bytes uint64)
	Retracted(p uintptr, gen uint32)
	// Opened tells of a scope, a function or a planned frame, Closed that the newest was
	// left, Abandoned that a thread had one open when it ended.
	Opened(c *Context, kind string)
	Closed(c *Context)
	Abandoned(c *Context)
	// Died tells of an object, Rested of a tensor that dies or rests in the pool, from which
	// others may take it at once; ForeignGone of a block that is registered no longer.
	Died(c *Context, e layout.Entry)
	Rested(c *Context, e layout.Entry)
	ForeignGone(c *Context, p, bytes uintptr)
}

// SetTensors, SetRecorder and SetLeftOpen are called before the first context exists. leftOpen, of package
// observe/leak, notes what ends with the open scopes of an ended thread's context, which the caller has taken over. It
// is called while Globals.LeakCheck is on.
func SetTensors(t Tensors)              { tensors = t }
func SetRecorder(r Recorder)            { recorder = r }
func SetLeftOpen(note func(c *Context)) { leftOpen = note }

// Tracing tells whether a trace runs. It costs a load.
var Tracing atomic.Bool

// Debugger is TL_DEBUG (package observe/debug): what is done with slots beside handing them out
// and taking them back. Its methods are safe for all threads.
type Debugger interface {
	// Open maps its tables, and Close gives them back; nothing was guarded.
	Open() status.Status
	Close()
	// Room returns the bytes that are asked of the heap for an object of n bytes.
	Room(n uintptr) uintptr
	// Guard makes what lies behind n bytes of a slot its red zone.
	Guard(e layout.Entry, n uintptr)
	// Usable returns how many of the size bytes of a slot its object may write to.
	Usable(e layout.Entry, size uint64) uint64
	// CheckZone reports damage of an object's red zone, and mends it.
	CheckZone(c *Context, e layout.Entry) (damaged bool)
	// Bury checks an object that is dead, and fills its slot with poison.
	Bury(c *Context, e layout.Entry)
	// Wait keeps a slot back that has its next generation, and returns those that have
	// waited long enough.
	Wait(c *Context, e layout.Entry) (free []layout.Entry)
	// Empty returns all slots that wait, and their bytes.
	Empty() (waiting []layout.Entry, bytes uint64)
	// Quarantined returns how many slots of each class wait, and the spans of large objects.
	Quarantined() (slots [layout.Classes]int64, large int64)
	// Check visits the slots that wait, and compares them with what is counted of them.
	Check(visit func(layout.Entry)) error
	// Sites tells where p was allocated and released, and where it is used now.
	Sites(c *Context, p uintptr) string
	// LeftFloat tells that a release has left more floats of an object than references.
	LeftFloat(c *Context, e layout.Entry, floats, references int32)
	// Entered tells that a scope, a function or a planned frame was opened, Leaving that the call leaves those from
	// a mark on.
	Entered(c *Context)
	Leaving(c *Context, target uint64, kind string)
	// DeadEntry tells of an entry of a scope whose object is gone, and StaleField of a reference at an offset of an
	// object that ends, and what is wrong with it.
	DeadEntry(c *Context, e layout.Entry)
	StaleField(c *Context, holder, offset uintptr, typ string, p uintptr, is FieldFault)
	// Report writes what the call has found, whose site is known now.
	Report(c *Context, site uint32)
}
