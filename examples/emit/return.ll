; func box(n) { return new Box(n) }        a Box is 8 bytes without references
define ptr @box(i64 %n) {
  call i32 @tl_mem_function_enter(i64 0)
  %box = call ptr @tl_mem_new(i64 8)        ; count 1, the function's scope holds it
  store i64 %n, ptr %box
  call i32 @tl_mem_unregister(ptr %box)     ; out of the scope: the reference floats
  call i32 @tl_mem_function_exit()          ; releases everything else
  ret ptr %box
}

define i64 @demo_return() {
  call i32 @tl_mem_enter_scope()
  %box = call ptr @box(i64 42)
  call i32 @tl_mem_register_struct(ptr %box) ; into the caller's scope; the count is 1 as before
  %n = load i64, ptr %box
  call i32 @tl_mem_exit_scope()
  ret i64 %n
}
