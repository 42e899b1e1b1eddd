; last = none;  for i in 0..1000 { last = box(i) };  return last.n
declare ptr @box(i64)

define i64 @demo_loop() {
entry:
  call i32 @tl_mem_function_enter(i64 0)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %last = phi ptr [ null, %entry ], [ %box, %loop ]
  call i32 @tl_mem_enter_scope()            ; the values of one turn
  %box = call ptr @box(i64 %i)
  call i32 @tl_mem_register_struct(ptr %box)
  call ptr @tl_ptr_acquire(ptr %box)        ; the variable's reference, which outlives the turn
  call i32 @tl_ptr_release(ptr %last)       ; of the old value; null does nothing
  call i32 @tl_mem_exit_scope()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %loop, label %end
end:
  %n = load i64, ptr %box
  call i32 @tl_ptr_release(ptr %box)        ; the variable ends
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
