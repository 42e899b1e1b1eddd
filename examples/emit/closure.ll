; func adder(b) { return |n| n + b.n }      a closure is an object: its function, then what it has captured
declare ptr @box(i64)

@closure.pointers = private constant [1 x i64] [i64 8] ; the captured value; the function at 0 is no reference
@closure.desc = private constant { ptr, i64, ptr, i64, ptr, i32 } { ptr null, i64 16, ptr @closure.pointers, i64 1,
  ptr null, i32 0 }
@closure.type = internal global i32 0
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @closure.define, ptr null }]
define internal void @closure.define() {
  call i32 @tl_type_define(ptr @closure.desc, ptr @closure.type)
  ret void
}

define internal i64 @adder.body(ptr %closure, i64 %n) {
  %field = getelementptr i8, ptr %closure, i64 8
  %b = load ptr, ptr %field                 ; borrowed: the caller holds the closure, which holds b
  %m = load i64, ptr %b
  %sum = add i64 %n, %m
  ret i64 %sum
}

define ptr @adder(ptr %b) {
  call i32 @tl_mem_function_enter(i64 0)
  %type = load i32, ptr @closure.type
  %closure = call ptr @tl_object_new(i32 %type)
  store ptr @adder.body, ptr %closure
  %field = getelementptr i8, ptr %closure, i64 8
  call ptr @tl_ptr_acquire(ptr %b)          ; the capture
  store ptr %b, ptr %field
  call i32 @tl_mem_unregister(ptr %closure)
  call i32 @tl_mem_function_exit()
  ret ptr %closure
}

define i64 @demo_closure() {
  call i32 @tl_mem_function_enter(i64 0)
  call i32 @tl_mem_enter_scope()
  %b = call ptr @box(i64 40)
  call i32 @tl_mem_register_struct(ptr %b)
  %made = call ptr @adder(ptr %b)
  call i32 @tl_mem_register_struct(ptr %made)
  call ptr @tl_ptr_acquire(ptr %made)       ; for a variable outside the block
  call i32 @tl_mem_exit_scope()             ; b lives on in the closure
  %function = load ptr, ptr %made
  %n = call i64 %function(ptr %made, i64 2)
  call i32 @tl_ptr_release(ptr %made)
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
