package llvm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/compiler/llvm/text"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// declaration returns that of a function: of the runtime, of an operation of tl_inline.ll, which has the thread as its
// first argument, of the C library or of LLVM. "" is none.
func declaration(name string) string {
	if d := declarations[name]; d != "" {
		return d
	}
	if operation, ok := strings.CutPrefix(name, "tl_inl_"); ok && slices.Contains(inlineCells, "tl_"+operation) {
		return strings.Replace(text.Runtime("tl_"+operation), "@tl_"+operation+"(", "@"+name+"(", 1)
	} else if ok {
		d := strings.Replace(text.Runtime("tl_"+operation), "@tl_"+operation+"(", "@"+name+"(ptr, ", 1)
		return strings.Replace(d, ", )", ")", 1)
	}
	return text.Runtime(name)
}

var declarations = map[string]string{
	"tl_inl_begin":            "declare void @tl_inl_begin(ptr)",
	"tl_inl_retake":           "declare void @tl_inl_retake(ptr)",
	"llvm.fptosi.sat.i64.f64": "declare i64 @llvm.fptosi.sat.i64.f64(double)",
	"dprintf":                 "declare i32 @dprintf(i32, ptr, ...)",
	"abort":                   "declare void @abort() noreturn nounwind",
}

// routine is a function that a module brings along where it needs it.
type routine struct {
	needs []string
	text  string
}

// checked is the text of a routine that calls the runtime and ends the process
// where it fails: with NULL for a pointer, with another status than TL_OK else.
func checked(head, call string, result ir.Kind) string {
	t, good, ret := "ptr", "icmp ne ptr %result, null", "ret ptr %result"
	if result == ir.Void {
		t, good, ret = "i32", "icmp eq i32 %result, 0", "ret void"
	}
	return fmt.Sprintf(`define internal %s {
  %%result = call %s %s
  %%good = %s
  br i1 %%good, label %%done, label %%failed
done:
  %s
failed:
  call void @lower$fail()
  unreachable
}
`, head, t, call, good, ret)
}

// support are all routines by name.
var support = func() map[string]routine {
	all := map[string]routine{}
	for _, some := range []map[string]routine{baseSupport, intSupport, vecSupport, inlineSupport, cellSupport} {
		maps.Copy(all, some)
	}
	return all
}()

var baseSupport = map[string]routine{
	"lower$fail": {[]string{"tl_last_error", "dprintf", "abort"}, `@lower$text = private constant [4 x i8] c"%s\0A\00"

define internal void @lower$fail() cold noreturn noinline {
  %why = call ptr @tl_last_error()
  call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @lower$text, ptr %why)
  call void @abort()
  unreachable
}
`},
	"object$new": {[]string{"tl_object_new", "lower$fail"}, strings.Replace(
		checked("ptr @object$new(ptr %at)", "@tl_object_new(i32 %type)", ir.Struct),
		"  %result", "  %type = load i32, ptr %at\n  %result", 1)},
	"function$enter": {[]string{"tl_mem_function_enter", "lower$fail"},
		checked("void @function$enter(i64 %slots)", "@tl_mem_function_enter(i64 %slots)", ir.Void)},
	"scope$enter": {[]string{"tl_mem_enter_scope", "lower$fail"},
		checked("void @scope$enter()", "@tl_mem_enter_scope()", ir.Void)},
	"tensor$heap": {[]string{"tl_tensor_empty", "lower$fail"},
		checked("ptr @tensor$heap(i32 %dtype, i64 %rank, ptr %shape)",
			"@tl_tensor_empty(i32 %dtype, i32 0, i64 %rank, ptr %shape)", ir.Tensor)},
	"tensor$zeros": {[]string{"tl_tensor_new_zeroed", "lower$fail"},
		checked("ptr @tensor$zeros(i32 %dtype, i64 %rank, ptr %shape)",
			"@tl_tensor_new_zeroed(i32 %dtype, i32 0, i64 %rank, ptr %shape)", ir.Tensor)},
	"tensor$slot": {[]string{"tl_tensor_in_slot", "lower$fail"},
		checked("ptr @tensor$slot(i64 %slot, i32 %dtype, i64 %rank, ptr %shape)",
			"@tl_tensor_in_slot(i64 %slot, i32 %dtype, i64 %rank, ptr %shape)", ir.Tensor)},
	"tensor$clone": {[]string{"tl_tensor_clone", "lower$fail"},
		checked("ptr @tensor$clone(ptr %tensor)", "@tl_tensor_clone(ptr %tensor)", ir.Tensor)},
	"tensor$read": {[]string{"tl_tensor_data"}, `define internal ptr @tensor$read(ptr %tensor) {
  %absent = icmp eq ptr %tensor, null
  br i1 %absent, label %zeros, label %elements
zeros:
  ret ptr @tensor$zero
elements:
  %data = call ptr @tl_tensor_data(ptr %tensor)
  ret ptr %data
}
`},
	"tensor$unshare": {[]string{"tl_ptr_refcount", "scope$enter", "tl_mem_exit_scope", "tensor$zeros", "tensor$clone",
		"tl_tensor_acquire", "tl_tensor_release"},
		unshareText("ptr @tensor$unshare(ptr %old, i32 %dtype, i64 %rank, ptr %shape)",
			"call ptr @tensor$zeros(i32 %dtype, i64 %rank, ptr %shape)", "  %copy = call ptr @tensor$clone(ptr %old)\n",
			"tl_tensor_acquire", "tl_tensor_release")},
}

// unshareText is a routine that gets the only reference of a variable and returns
// the one that replaces it: the same when nobody else has one, else to a copy. What is
// made has a scope of its own, which lets go of it at once, so that it is unshared.
func unshareText(head, make, clone, acquire, release string) string {
	return fmt.Sprintf(`define internal %s {
  %%absent = icmp eq ptr %%old, null
  br i1 %%absent, label %%none, label %%look
look:
  %%count = call i64 @tl_ptr_refcount(ptr %%old)
  %%alone = icmp eq i64 %%count, 1
  br i1 %%alone, label %%same, label %%shared
same:
  ret ptr %%old
none:
  call void @scope$enter()
  %%new = %s
  call ptr @%s(ptr %%new)
  call i32 @tl_mem_exit_scope()
  ret ptr %%new
shared:
  call void @scope$enter()
%s  call ptr @%s(ptr %%copy)
  call i32 @tl_mem_exit_scope()
  call i32 @%s(ptr %%old)
  ret ptr %%copy
}
`, head, make, acquire, clone, acquire, release)
}

// needUnshare makes the routine for a struct part of the module.
func (w *module) needUnshare(name string) {
	if w.used[name+"$unshare"] {
		return
	}
	w.used[name+"$unshare"] = true
	needs, maker := []string{"tl_ptr_refcount", "scope$enter", "tl_mem_exit_scope", "tl_ptr_acquire", "tl_ptr_release"},
		w.maker(ir.StructType(name))
	if w.Cells[name] {
		needs = []string{"tl_cell_is_unique", "cell$drop"}
	}
	for _, n := range append(needs, maker) {
		w.need(n)
	}
	var clone strings.Builder
	fmt.Fprintf(&clone, "  %%copy = call ptr @%s(ptr @%s$type)\n", maker, name)
	for i, f := range w.Program.Struct(name).Fields {
		t := typeName(f.Type)
		fmt.Fprintf(&clone, "  %%from.%d = getelementptr inbounds i8, ptr %%old, i64 %d\n", i, fieldBytes*i)
		fmt.Fprintf(&clone, "  %%to.%d = getelementptr inbounds i8, ptr %%copy, i64 %d\n", i, fieldBytes*i)
		fmt.Fprintf(&clone, "  %%field.%d = load %s, ptr %%from.%d\n", i, t, i)
		if f.Type.Counted() {
			called, result := w.counting(flow.Acquire, f.Type)
			fmt.Fprintf(&clone, "  call %s %s(ptr %%field.%d)\n", result, w.need(called), i)
		}
		fmt.Fprintf(&clone, "  store %s %%field.%d, ptr %%to.%d\n", t, i, i)
	}
	if w.Cells[name] {
		w.finished = append(w.finished, unshareCellText(name, clone.String()))
		return
	}
	w.finished = append(w.finished, unshareText(fmt.Sprintf("ptr @%s$unshare(ptr %%old)", name),
		fmt.Sprintf("call ptr @object$new(ptr @%s$type)", name), clone.String(), "tl_ptr_acquire", "tl_ptr_release"))
}

// supports writes the routines that are used.
func (w *module) supports(text *strings.Builder) {
	for _, routine := range w.finished {
		text.WriteString("\n" + w.withOperations(routine))
	}
	kernels := false
	for _, name := range slices.Sorted(maps.Keys(w.used)) {
		if s, known := support[name]; known {
			text.WriteString("\n" + w.withOperations(s.text))
		}
		if k := kernel(name); k != "" {
			text.WriteString("\n" + k)
			kernels = true
		}
	}
	if kernels {
		fmt.Fprintf(text, "\nattributes #0 = { %s }\n", w.kernelAttributes())
	}
}

// kernelAttributes say that a kernel touches nothing but what its arguments point to.
func (w *module) kernelAttributes() string {
	return text.ArgumentsOnly(w.Version, "nofree norecurse nosync nounwind willreturn")
}
