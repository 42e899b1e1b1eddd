package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// What this package asks of those above, which it does not import. They fill these
// variables when they are linked in.

// TensorHooks are set by package tensor, which stands above this one.
var TensorHooks struct {
	// Keep puts a dead tensor of a device to rest; false when it has to be taken apart.
	Keep func(r *layout.Record, e layout.Entry) bool
	// IsWhole tells whether a tensor has nothing to end but its slot.
	IsWhole func(object uintptr) bool
	// Deleter returns what has to be called when a tensor dies: f(data, context); 0 = nothing.
	Deleter func(object uintptr) (f, data, context uintptr)
	// Dismantle releases the storage that a view shares.
	Dismantle func(c *Context, object uintptr)
	// DeviceBytes returns what a tensor has beside its slot: on a device, or since it has grown.
	DeviceBytes func(p uintptr) uint64
	// DeviceName returns the device that a tensor has memory on, "" for the CPU.
	DeviceName func(p uintptr) string
}

// LeftOpen is package observe/leak's: it notes what ends with the open scopes of an ended
// thread's context, which the caller has taken over. It is called while Globals.LeakCheck
// is on.
var LeftOpen func(c *Context)

// RecordHooks are package observe/track's. All but Open are called while allocations are
// recorded (Globals.Tracking).
var RecordHooks struct {
	// Open fills what the fast path needs, before the first context exists.
	Open func(g *layout.Globals) status.Status
	// NextBytes and NextObject draw after how many bytes, and which of the coming objects of
	// so many bytes, is the next sample.
	NextBytes  func() uint64
	NextObject func(size uint64) uint64
	// Draw tells whether an allocation of so many bytes is one.
	Draw func(bytes uint64) bool
	// Object records an object that was drawn by so many bytes, Foreign a registered block.
	Object  func(c *Context, e layout.Entry, bytes, drawn uint64)
	Foreign func(c *Context, p uintptr, bytes uint64)
	// Resized tells that other bytes are asked of an object, Retracted that the call takes
	// back a block that it has registered.
	Resized   func(c *Context, e layout.Entry, bytes uint64)
	Retracted func(p uintptr, gen uint32)
}

// Tracing tells whether a trace runs: TraceHooks are called while it is set. It costs a load.
var Tracing atomic.Bool

// TraceHooks are package observe/track's, too.
var TraceHooks struct {
	// Opened tells of a scope, a function or a planned frame, Closed that the newest was
	// left, Abandoned that a thread had one open when it ended.
	Opened    func(c *Context, kind string)
	Closed    func(c *Context)
	Abandoned func(c *Context)
	// Died tells of an object, Rested of a tensor that dies or rests in the pool, from which
	// others may take it at once; ForeignGone of a block that is registered no longer.
	Died        func(c *Context, e layout.Entry)
	Rested      func(c *Context, e layout.Entry)
	ForeignGone func(c *Context, p, bytes uintptr)
}

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
	// Report writes what the call has found, whose site is known now.
	Report(c *Context, site uint32)
}
