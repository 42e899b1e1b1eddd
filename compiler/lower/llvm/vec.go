package llvm

import (
	"strings"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// vec writes the operations on vecs. Those of none have no elements.
func (f *function) vec(o *flow.Op) {
	switch o.Code {
	case flow.NewVec:
		f.compute(o.Dst, "call ptr %s(i64 0)", f.need("vec$new"))
	case flow.Len:
		f.compute(o.Dst, "call i64 %s(ptr %s)", f.need("tl_vec_len"), f.get(o.Args[0]))
	case flow.LoadAt:
		vec := f.get(o.Args[0])
		f.compute(o.Dst, "call ptr %s(ptr %s, i64 %s)", f.need("vec$get"), vec, f.get(o.Args[1]))
	case flow.StoreAt:
		x, i := f.get(o.Args[0]), f.get(o.Args[1])
		f.Do("call void %s(ptr %s, i64 %s, ptr %s)", f.need("vec$set"), f.get(f.Use(o.Dst)), i, x)
	case flow.Append:
		x := f.get(o.Args[0])
		f.Do("call void %s(ptr %s, ptr %s)", f.need("vec$push"), f.get(f.Use(o.Dst)), x)
	case flow.RemoveLast:
		f.Do("call void %s(ptr %s)", f.need("vec$pop"), f.get(f.Use(o.Dst)))
	default:
		f.tensor(o)
	}
}

// vecSupport are the routines for vecs, by name.
var vecSupport = map[string]routine{
	"vec$new": {[]string{"tl_vec_new", "lower$fail"},
		checked("ptr @vec$new(i64 %capacity)", "@tl_vec_new(i64 %capacity)", ir.Vec)},
	"vec$push": {[]string{"tl_vec_push", "lower$fail"},
		checked("void @vec$push(ptr %vec, ptr %x)", "@tl_vec_push(ptr %vec, ptr %x)", ir.Void)},
	"vec$replace": {[]string{"tl_vec_set", "lower$fail"},
		checked("void @vec$replace(ptr %vec, i64 %i, ptr %x)", "@tl_vec_set(ptr %vec, i64 %i, ptr %x)", ir.Void)},
	"vec$get": {[]string{"tl_vec_len", "tl_vec_get"}, inside("ptr @vec$get(ptr %vec, i64 %i)", `
  %x = call ptr @tl_vec_get(ptr %vec, i64 %i)
  ret ptr %x`, "ret ptr null")},
	"vec$set": {[]string{"tl_vec_len", "vec$replace"}, inside("void @vec$set(ptr %vec, i64 %i, ptr %x)", `
  call void @vec$replace(ptr %vec, i64 %i, ptr %x)
  ret void`, "ret void")},
	// What is popped floats: a scope of its own releases it.
	"vec$pop": {[]string{"tl_vec_len", "tl_vec_pop", "scope$enter", "tl_mem_register_struct", "tl_mem_exit_scope"},
		strings.Replace(inside("void @vec$pop(ptr %vec)", `
  call void @scope$enter()
  %x = call ptr @tl_vec_pop(ptr %vec)
  call i32 @tl_mem_register_struct(ptr %x)
  call i32 @tl_mem_exit_scope()
  ret void`, "ret void"), "%i,", "0,", 1)},
	"vec$clone": {[]string{"tl_vec_len", "tl_vec_get", "vec$new", "vec$push"}, `define internal ptr @vec$clone(ptr %old) {
entry:
  %n = call i64 @tl_vec_len(ptr %old)
  %copy = call ptr @vec$new(i64 %n)
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %element ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %element, label %done
element:
  %x = call ptr @tl_vec_get(ptr %old, i64 %i)
  call void @vec$push(ptr %copy, ptr %x)
  %next = add nuw nsw i64 %i, 1
  br label %test
done:
  ret ptr %copy
}
`},
	"vec$unshare": {[]string{"tl_ptr_refcount", "scope$enter", "tl_mem_exit_scope", "vec$new", "vec$clone",
		"tl_ptr_acquire", "tl_ptr_release"},
		unshareText("ptr @vec$unshare(ptr %old)", "call ptr @vec$new(i64 0)",
			"  %copy = call ptr @vec$clone(ptr %old)\n", "tl_ptr_acquire", "tl_ptr_release")},
}

// inside is a routine that does something where %i is an index of %vec, else ends.
func inside(head, body, end string) string {
	return "define internal " + head + ` {
  %n = call i64 @tl_vec_len(ptr %vec)
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %element, label %outside
element:` + body + `
outside:
  ` + end + `
}
`
}
