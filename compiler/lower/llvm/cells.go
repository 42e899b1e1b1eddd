package llvm

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// isCell tells whether the values of a type are cells.
func (w *module) isCell(t ir.Type) bool { return t.Kind == ir.Struct && w.Cells[t.Name] }

// maker is the routine that makes a struct.
func (w *module) maker(t ir.Type) string {
	if w.isCell(t) {
		return "cell$new"
	}
	return "object$new"
}

// inlineCells are the operations on cells that have no thread, by the calls for which they stand.
var inlineCells = []string{"tl_cell_dup", "tl_cell_is_unique", "tl_cell_drop"}

// operation is the name of an operation on cells as the module calls it.
func (w *module) operation(name string) string {
	if w.Inline && slices.Contains(inlineCells, name) {
		return "tl_inl_" + strings.TrimPrefix(name, "tl_")
	}
	return name
}

// withOperations is the text of a routine with the operations as the module calls them.
func (w *module) withOperations(text string) string {
	for _, name := range inlineCells {
		text = strings.ReplaceAll(text, "@"+name+"(", "@"+w.operation(name)+"(")
	}
	return text
}

// newStruct makes a struct. A token is a cell that becomes it, or none.
func (f *function) newStruct(o *flow.Op) {
	if len(o.Args) > 0 {
		f.compute(o.Dst, "call ptr %s(ptr %s, ptr @%s$type)", f.need("cell$renew"), f.get(o.Args[0]), o.Type.Name)
		return
	}
	f.compute(o.Dst, "call ptr %s(ptr @%s$type)", f.need(f.maker(o.Type)), o.Type.Name)
}

// reset ends the reference of a variable to a cell, and takes over references of its fields.
func (f *function) reset(o *flow.Op) {
	f.taken = false
	name := o.Type.Name + "$reset"
	for _, field := range slices.Sorted(slices.Values(o.Fields)) {
		name += fmt.Sprintf(".%d", field)
	}
	if !f.used[name] {
		f.used[name] = true
		f.finished = append(f.finished, f.resetText(name, o))
	}
	f.compute(o.Dst, "call ptr @%s(ptr %s)", name, f.get(o.Args[0]))
}

func (w *module) resetText(name string, o *flow.Op) string {
	w.need("tl_cell_is_unique")
	w.need("cell$drop")
	var alone, shared strings.Builder
	for i, field := range w.Program.Struct(o.Type.Name).Fields {
		if !field.Type.Counted() {
			continue
		}
		to, code := &alone, flow.Release
		if slices.Contains(o.Fields, i) {
			to, code = &shared, flow.Acquire
		}
		fmt.Fprintf(to, "  %%at.%d = getelementptr inbounds i8, ptr %%cell, i64 %d\n", i, fieldBytes*i)
		fmt.Fprintf(to, "  %%field.%d = load ptr, ptr %%at.%d\n", i, i)
		called, result := w.counting(code, field.Type)
		fmt.Fprintf(to, "  call %s %s(ptr %%field.%d)\n", result, w.need(called), i)
	}
	return fmt.Sprintf(`define internal ptr @%s(ptr %%cell) {
  %%absent = icmp eq ptr %%cell, null
  br i1 %%absent, label %%none, label %%look
look:
  %%alone = call zeroext i1 @tl_cell_is_unique(ptr %%cell)
  br i1 %%alone, label %%keep, label %%shared
keep:
%s  ret ptr %%cell
shared:
%s  call void @cell$drop(ptr %%cell)
  ret ptr null
none:
  ret ptr null
}
`, name, alone.String(), shared.String())
}

// unshareCellText is what unshareText is for objects. A new cell is the variable's at once.
func unshareCellText(name, clone string) string {
	return fmt.Sprintf(`define internal ptr @%s$unshare(ptr %%old) {
  %%absent = icmp eq ptr %%old, null
  br i1 %%absent, label %%none, label %%look
look:
  %%alone = call zeroext i1 @tl_cell_is_unique(ptr %%old)
  br i1 %%alone, label %%same, label %%shared
same:
  ret ptr %%old
none:
  %%new = call ptr @cell$new(ptr @%s$type)
  ret ptr %%new
shared:
%s  call void @cell$drop(ptr %%old)
  ret ptr %%copy
}
`, name, name, clone)
}

// owned is the name of the function that gets references, where it is not the one that everybody calls.
func (w *module) owned(symbol string) string {
	if owners := w.Owners[symbol]; slices.ContainsFunc(owners, func(word uint64) bool { return word != 0 }) {
		return symbol + "$owned"
	}
	return symbol
}

// lent writes the function that others call: its caller keeps all references.
func (w *module) lent(f *flow.Function, params []string) {
	w.line("\ndefine %s @%s(%s) {", typeName(f.Result), f.Symbol, strings.Join(params, ", "))
	w.Owners[f.Symbol].Each(func(v flow.Var) {
		w.Do("call void %s(ptr %%%s)", w.need("cell$dup"), f.Vars[v].Name)
	})
	result, of := "", ""
	if f.Result.Kind != ir.Void {
		result, of = "%$result = ", " %$result"
	}
	w.Do("%scall %s @%s(%s)", result, typeName(f.Result), w.owned(f.Symbol), strings.Join(params, ", "))
	w.Do("ret %s%s\n}", typeName(f.Result), of)
}

// cellSupport are the routines for cells, by name.
var cellSupport = map[string]routine{
	"cell$new": {[]string{"tl_cell_new_typed", "lower$fail"}, strings.Replace(
		checked("ptr @cell$new(ptr %at)", "@tl_cell_new_typed(i32 %type)", ir.Struct),
		"  %result", "  %type = load i32, ptr %at\n  %result", 1)},
	"cell$renew": {[]string{"cell$new"}, `define internal ptr @cell$renew(ptr %token, ptr %at) {
  %absent = icmp eq ptr %token, null
  br i1 %absent, label %new, label %old
new:
  %cell = call ptr @cell$new(ptr %at)
  ret ptr %cell
old:
  ret ptr %token
}
`},
	"cell$dup": {[]string{"tl_cell_dup"}, `define internal void @cell$dup(ptr %cell) {
  %absent = icmp eq ptr %cell, null
  br i1 %absent, label %done, label %count
count:
  call ptr @tl_cell_dup(ptr %cell)
  br label %done
done:
  ret void
}
`},
	"cell$drop": {[]string{"tl_cell_drop", "tl_cell_free"}, `define internal void @cell$drop(ptr %cell) {
  %absent = icmp eq ptr %cell, null
  br i1 %absent, label %done, label %count
count:
  %last = call zeroext i1 @tl_cell_drop(ptr %cell)
  br i1 %last, label %end, label %done
end:
  call i32 @tl_cell_free(ptr %cell)
  br label %done
done:
  ret void
}
`},
}
