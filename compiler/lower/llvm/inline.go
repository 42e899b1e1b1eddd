package llvm

import (
	"strings"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// inlined names, for what a function of the program calls, the operation of
// tl_runtime.bc, or the routine around it, that has the context as first argument. Tensors are not
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

// inlineDeclarations are those of include/tl_inline.h.
var inlineDeclarations = map[string]string{
	"tl_context_address":        "declare nonnull ptr @tl_context_address(i32) nounwind",
	"tl_inl_mem_function_enter": "declare i32 @tl_inl_mem_function_enter(ptr, i64)",
	"tl_inl_mem_function_exit":  "declare i32 @tl_inl_mem_function_exit(ptr)",
	"tl_inl_mem_enter_scope":    "declare i32 @tl_inl_mem_enter_scope(ptr)",
	"tl_inl_mem_exit_scope":     "declare i32 @tl_inl_mem_exit_scope(ptr)",
	"tl_inl_ptr_acquire":        "declare ptr @tl_inl_ptr_acquire(ptr, ptr)",
	"tl_inl_ptr_release":        "declare i32 @tl_inl_ptr_release(ptr, ptr)",
}

// inlineSupport are the routines around inlined operations.
var inlineSupport = map[string]routine{
	"inline$function": {[]string{"tl_inl_mem_function_enter", "lower$fail"},
		checked("void @inline$function(ptr %context, i64 %slots)",
			"@tl_inl_mem_function_enter(ptr %context, i64 %slots)", ir.Void)},
	"inline$scope": {[]string{"tl_inl_mem_enter_scope", "lower$fail"},
		checked("void @inline$scope(ptr %context)", "@tl_inl_mem_enter_scope(ptr %context)", ir.Void)},
}

// context makes room for the context at a function's entry, if the function inlines
// anything. The address of the word that the library keeps stays the same; the word is
// read before each operation, since any call may have changed it.
func (f *function) context() {
	if !f.Inline || !f.inlines() {
		return
	}
	f.line("  %%$context = alloca ptr")
	f.line("  %%$word = call ptr %s(i32 1)", f.need("tl_context_address"))
}

// inlines tells whether any operation of the function is one that is inlined.
func (f *function) inlines() (found bool) {
	f.Each(func(o *flow.Op) {
		switch o.Code {
		case flow.FunctionEnter, flow.FunctionExit, flow.EnterScope, flow.ExitScope:
			found = true
		case flow.Acquire, flow.Release:
			found = found || o.Args[0].Type.Kind != ir.Tensor
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
	f.line("  store ptr %s, ptr %%$context", f.let("load ptr, ptr %%$word"))
	return f.need(other) + "(" + strings.Join(append([]string{"ptr %$context"}, arguments...), ", ") + ")"
}
