package object

import "tlruntime/runtime/layout"

// What this package asks of those above, which it does not import. They fill these
// variables when they are linked in.

// TensorHooks are set by package tensor, which stands above this one.
var TensorHooks struct {
	// Keep puts a dead tensor into the pool; false when it has to be taken apart.
	Keep func(me *Context, r *layout.Record, e layout.Entry) bool
	// Deleter returns what has to be called when a tensor dies: f(data, context); 0 = nothing.
	Deleter func(object uintptr) (f, data, context uintptr)
	// Dismantle releases the storage that a view shares.
	Dismantle func(c *Context, object uintptr)
	// DeviceBytes returns what a tensor has on a device, beside its header.
	DeviceBytes func(p uintptr) uint64
}

// LeftOpen is package observe/leak's: it notes what ends with the open scopes of an ended
// thread's context, which the caller has taken over. Called while Globals.LeakCheck is on.
var LeftOpen func(c *Context)
