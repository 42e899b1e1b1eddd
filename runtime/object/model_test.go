package object_test

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// The calls of a context under the names that the model's steps use. Addresses,
// numbers and results all travel as uintptr.
type table = map[string]func(a []uintptr) uintptr

// acting brackets each call as the C path does: what other threads left is looked
// at before, dying objects are finished after.
func acting(c *object.Context, all table) table {
	for name, call := range all {
		all[name] = func(a []uintptr) uintptr {
			current = c
			c.Poll()
			r := call(a)
			c.Drain()
			checkBooks()
			return r
		}
	}
	return all
}

func of(st status.Status) uintptr { return uintptr(st) }

func flagOf(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}

func calls(c *object.Context) table {
	all := table{}
	for _, some := range []table{countCalls(c), objectCalls(c), vecCalls(c), scopeCalls(c), frameCalls(c)} {
		for name, call := range some {
			all[name] = call
		}
	}
	return all
}

// onOne makes the table entry of a call that takes one address.
func onOne(f func(p uintptr) status.Status) func(a []uintptr) uintptr {
	return func(a []uintptr) uintptr { return of(f(a[0])) }
}

func countCalls(c *object.Context) table {
	return table{
		"acquire":         func(a []uintptr) uintptr { c.Acquire(a[0]); return a[0] },
		"inc_ref":         onOne(c.Acquire),
		"release":         onOne(c.Release),
		"release_bool":    func(a []uintptr) uintptr { return flagOf(a[0] != 0 && c.Release(a[0]) == status.OK) },
		"dec_ref":         func(a []uintptr) uintptr { return uintptr(c.DecRef(a[0])) },
		"refcount":        func(a []uintptr) uintptr { return uintptr(c.Refcount(a[0])) },
		"check":           onOne(c.Check),
		"register_struct": onOne(c.Register), "register_named": onOne(c.Register), "register": onOne(c.Register),
		"register_ptr": onOne(c.RegisterKnown), "register_tensor": onOne(c.RegisterKnown),
		"register_vec_ptr": onOne(c.RegisterKnown),
		"unregister":       onOne(c.Unregister),
		"share":            onOne(c.Share),
		"immortal":         onOne(c.MakeImmortal),
		"free":             onOne(c.Free), "dealloc": onOne(c.Free), "free_tmp": onOne(c.Free),
	}
}

func objectCalls(c *object.Context) table {
	return table{
		"alloc": func(a []uintptr) uintptr { return c.Alloc(a[0]) },
		"alloc_tmp": func(a []uintptr) uintptr {
			if int64(a[0]) < 0 {
				c.Fail(status.InvalidArgument, 0, 0)
				return 0
			}
			return c.Alloc(a[0])
		},
		"new":         func(a []uintptr) uintptr { return c.New(a[0]) },
		"new_zeroed":  func(a []uintptr) uintptr { return c.NewZeroed(a[0]) },
		"object_new":  func(a []uintptr) uintptr { return c.ObjectNew(typeNumber(a[0])) },
		"type_define": func(a []uintptr) uintptr { _, st := c.Define(badTypes[a[0]]); return of(st) },
		"realloc":     func(a []uintptr) uintptr { return c.Realloc(a[0], a[1]) },
		"deep_clone":  func(a []uintptr) uintptr { return c.DeepClone(a[0]) },
		"collect":     func([]uintptr) uintptr { return uintptr(c.CollectCycles()) },
		"purge":       func([]uintptr) uintptr { c.Purge(); return 0 },
		"shutdown":    func([]uintptr) uintptr { return of(c.Shutdown()) },
	}
}

func typeNumber(i uintptr) uint32 {
	if i < uintptr(len(types)) {
		return types[i]
	}
	return 1 << 23
}

func vecCalls(c *object.Context) table {
	return table{
		"vec_new":     func(a []uintptr) uintptr { return c.VecNew(a[0]) },
		"vec_push":    func(a []uintptr) uintptr { return of(c.VecPush(a[0], a[1])) },
		"vec_get":     func(a []uintptr) uintptr { return c.VecGet(a[0], a[1]) },
		"vec_set":     func(a []uintptr) uintptr { return of(c.VecSet(a[0], a[1], a[2])) },
		"vec_pop":     func(a []uintptr) uintptr { return c.VecPop(a[0]) },
		"vec_len":     func(a []uintptr) uintptr { return uintptr(c.VecLen(a[0])) },
		"vec_reserve": func(a []uintptr) uintptr { return of(c.VecReserve(a[0], a[1])) },
		"vec_clear":   onOne(c.VecClear),
	}
}

func scopeCalls(c *object.Context) table {
	return table{
		"enter_scope":    func([]uintptr) uintptr { return of(c.EnterScope()) },
		"exit_scope":     func([]uintptr) uintptr { return of(c.ExitScope()) },
		"exit_scopes_to": func(a []uintptr) uintptr { return of(c.ExitScopesTo(int64(a[0]))) },
		"depth":          func([]uintptr) uintptr { return uintptr(c.Depth()) },
	}
}

func frameCalls(c *object.Context) table {
	return table{
		"function_enter":     func(a []uintptr) uintptr { return of(c.FunctionEnter(int64(a[0]))) },
		"function_exit":      func([]uintptr) uintptr { return of(c.FunctionExit()) },
		"get_buffer":         func(a []uintptr) uintptr { return c.GetBuffer(int64(a[0]), int64(a[1])) },
		"frame_enter":        func(a []uintptr) uintptr { return c.FrameEnter(a[0]) },
		"frame_exit":         func([]uintptr) uintptr { return of(c.FrameExit()) },
		"arena_init":         func(a []uintptr) uintptr { return of(c.ArenaInit(int64(a[0]))) },
		"arena_alloc":        func(a []uintptr) uintptr { return c.ArenaAlloc(int64(a[0])) },
		"arena_malloc":       func(a []uintptr) uintptr { return c.ArenaMalloc(int64(a[0])) },
		"arena_free":         func([]uintptr) uintptr { return of(c.ArenaFree()) },
		"arena_reset":        func([]uintptr) uintptr { return of(c.ArenaReset()) },
		"arena_set_offset":   func(a []uintptr) uintptr { return of(c.ArenaSetOffset(int64(a[0]))) },
		"arena_contains":     func(a []uintptr) uintptr { return flagOf(c.ArenaContains(a[0])) },
		"arena_is_active":    func([]uintptr) uintptr { return flagOf(c.ArenaActive()) },
		"arena_get_offset":   func([]uintptr) uintptr { return uintptr(c.ArenaOffset()) },
		"arena_get_capacity": func([]uintptr) uintptr { return uintptr(c.ArenaCapacity()) },
	}
}
