package llvm

import (
	"strings"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// inlined names, for what a function of the program calls, the operation of
// tl_inline.ll, or the routine around it, that has the thread as first argument. Tensors are not
// among them: those operations know no tensor in a slot, and addresses are asked for
// once as it is.
var inlined = map[string]string{
	"function$enter":       "inline$function",
	"scope$enter":          "inline$scope",
	"tl_mem_function_exit": "tl_inl_mem_function_exit",
	"tl_mem_exit_scope":    "tl_inl_mem_exit_scope",
	"tl_ptr_acquire":       "tl_inl_ptr_acquire",
	"tl_ptr_release":       "tl_inl_ptr_release",
}

// inlineSupport are the routines around inlined operations.
var inlineSupport = map[string]routine{
	"inline$function": {[]string{"tl_inl_mem_function_enter", "lower$fail"},
		checked("void @inline$function(ptr %thread, i64 %slots)",
			"@tl_inl_mem_function_enter(ptr %thread, i64 %slots)", ir.Void)},
	"inline$scope": {[]string{"tl_inl_mem_enter_scope", "lower$fail"},
		checked("void @inline$scope(ptr %thread)", "@tl_inl_mem_enter_scope(ptr %thread)", ir.Void)},
}

// thread makes room for a tl_inl_thread at a function's entry, if the function inlines
// anything. Any other call may change the context in it, so the next operation takes it
// again, which is a load; and so does the first one of a block, where a loop may begin.
func (f *function) thread() {
	if !f.Inline || !f.inlines() {
		return
	}
	f.Do("%%$thread = alloca [8 x ptr]")
	f.Do("call void %s(ptr %%$thread)", f.need("tl_inl_begin"))
	f.taken = true
}

// need is the name of a function that is about to be called.
func (f *function) need(name string) string {
	f.taken = false
	return f.module.need(name)
}

// inlines tells whether any operation of the function is one that is inlined.
func (f *function) inlines() (found bool) {
	f.Each(func(o *flow.Op) {
		switch o.Code {
		case flow.FunctionEnter, flow.FunctionExit, flow.EnterScope, flow.ExitScope:
			found = true
		case flow.Acquire, flow.Release:
			found = found || o.Args[0].Type.Kind != ir.Tensor && !f.isCell(o.Args[0].Type)
		}
	})
	return found
}

// runtime returns a call of one of the runtime's functions or routines, as text behind
// the type of the result: inlined, where the module inlines it.
func (f *function) runtime(name string, arguments ...string) string {
	other := inlined[name]
	if !f.Inline || other == "" {
		return f.need(name) + "(" + strings.Join(arguments, ", ") + ")"
	}
	if !f.taken {
		f.Do("call void %s(ptr %%$thread)", f.need("tl_inl_retake"))
	}
	f.taken = name != "tl_mem_exit_scope" // which makes a call if the scope held anything
	return f.module.need(other) + "(" + strings.Join(append([]string{"ptr %$thread"}, arguments...), ", ") + ")"
}
