package main

import (
	"tlruntime/runtime/headroom"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/status"
)

// guarded runs body with the context at c and is the one place that stops
// panics before they reach C, where they would abort the host. A panic becomes
// TL_E_INTERNAL with its text, and guarded returns failed.
func guarded[R any](c uintptr, failed R, body func(*object.Context) R) (result R) {
	headroom.Reserve()
	context := object.At(c)
	entered()
	defer func() {
		if cause := recover(); cause != nil {
			reportDefect(cause)
			fail(context, status.Internal, "a defect of this library was contained: %v", cause)
			result = failed
		}
		left(context)
	}()
	result = body(context)
	if trace.Due() {
		trace.Count()
	}
	return result
}

// guardedStatus is guarded for functions that return a tl_status.
func guardedStatus(c uintptr, body func(*object.Context) status.Status) int32 {
	return int32(guarded(c, status.Internal, body))
}

// fail records an error for which package object has no text.
func fail(o *object.Context, st status.Status, format string, args ...any) status.Status {
	return o.Failf(st, format, args...)
}

// lastError renders the last error and returns where the text stands.
func lastError(o *object.Context) uintptr {
	o.Message()
	return layout.Address(&o.Context.Message)
}
