; b = box(20);  t = spawn { return box(b.n + 22) };  return join(t).n
declare ptr @box(i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal ptr @thread.body(ptr %b) {
  %n = load i64, ptr %b
  %sum = add i64 %n, 22
  call i32 @tl_ptr_release(ptr %b)          ; the thread's reference
  %r = call ptr @box(i64 %sum)              ; floats, and is returned so
  ret ptr %r
}

define i64 @demo_thread() {
  %thread = alloca i64
  %result = alloca ptr
  call i32 @tl_mem_function_enter(i64 0)
  call i32 @tl_mem_enter_scope()
  %b = call ptr @box(i64 20)
  call i32 @tl_mem_register_struct(ptr %b)
  call ptr @tl_ptr_acquire(ptr %b)          ; the thread's reference, before there is a thread
  call i32 @tl_ptr_share(ptr %b)            ; whoever is last frees it at once
  call i32 @pthread_create(ptr %thread, ptr null, ptr @thread.body, ptr %b)
  call i32 @tl_mem_exit_scope()             ; this thread no longer needs b
  %id = load i64, ptr %thread
  call i32 @pthread_join(i64 %id, ptr %result)
  %r = load ptr, ptr %result
  call i32 @tl_mem_register_struct(ptr %r)
  %n = load i64, ptr %r
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
