; func leaf(n) { return new Box(n) }
; func newest(n) { last = none;  for i in 0..n { last = leaf(i) };  return last }     last owns a reference

define ptr @leaf(i64 %n) {
  %box = call ptr @tl_mem_new(i64 8)        ; in the caller's scope, as a leaf has none,
  call i32 @tl_mem_unregister(ptr %box)     ; and out of it: two calls
  store i64 %n, ptr %box
  ret ptr %box
}

define ptr @newest(i64 %n) {
entry:
  call i32 @tl_mem_function_enter(i64 0)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %last = phi ptr [ null, %entry ], [ %box, %loop ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %loop, label %end
loop:
  call i32 @tl_mem_enter_scope()
  %box = call ptr @leaf(i64 %i)
  call i32 @tl_mem_register_struct(ptr %box)
  call ptr @tl_ptr_acquire(ptr %box)        ; the variable's reference
  call i32 @tl_ptr_release(ptr %last)       ; null does nothing
  call i32 @tl_mem_exit_scope()
  %next = add i64 %i, 1
  br label %head
end:                                        ; null where n is 0: each of the calls takes it
  call i32 @tl_mem_register_struct(ptr %last) ; the function's scope takes a reference,
  call i32 @tl_ptr_release(ptr %last)       ; the variable ends,
  call i32 @tl_mem_unregister(ptr %last)    ; and the scope's reference floats
  call i32 @tl_mem_function_exit()
  ret ptr %last
}

define i64 @demo_owned() {
  call i32 @tl_mem_function_enter(i64 0)
  %none = call ptr @newest(i64 0)
  call i32 @tl_mem_register_struct(ptr %none) ; null, and nothing happens
  %last = call ptr @newest(i64 43)
  call i32 @tl_mem_register_struct(ptr %last)
  %n = load i64, ptr %last
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
