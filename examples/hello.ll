; lli --load=libtl_runtime.so hello.ll, or clang hello.ll -ltl_runtime
; A function returns an object to its caller, as a compiler emits it: made in the callee's frame, taken out, registered.
declare i32 @tl_mem_function_enter(i64)
declare i32 @tl_mem_function_exit()
declare i32 @tl_mem_enter_scope()
declare i32 @tl_mem_exit_scope()
declare ptr @tl_mem_new(i64)
declare i32 @tl_mem_unregister(ptr)
declare i32 @tl_mem_register_struct(ptr)
declare i64 @tl_ptr_refcount(ptr)
declare i32 @printf(ptr, ...)

@text = private constant [42 x i8] c"the answer is %d, held by %lld reference\0A\00"

define ptr @answer() {
  call i32 @tl_mem_function_enter(i64 0)
  %object = call ptr @tl_mem_new(i64 8)
  store i32 42, ptr %object
  call i32 @tl_mem_unregister(ptr %object)
  call i32 @tl_mem_function_exit()
  ret ptr %object
}

define i32 @main() {
  call i32 @tl_mem_enter_scope()
  %object = call ptr @answer()
  call i32 @tl_mem_register_struct(ptr %object)
  %value = load i32, ptr %object
  %count = call i64 @tl_ptr_refcount(ptr %object)
  call i32 (ptr, ...) @printf(ptr @text, i32 %value, i64 %count)
  call i32 @tl_mem_exit_scope()
  ret i32 0
}
