; func find(from) { for n in from.. { { b = box(n);  if b.n % 7 == 0 { return b } } } }
declare ptr @box(i64)

define ptr @find(i64 %from) {
entry:
  call i32 @tl_mem_function_enter(i64 0)
  br label %loop
loop:
  %n = phi i64 [ %from, %entry ], [ %next, %continue ]
  call i32 @tl_mem_enter_scope()
  %b = call ptr @box(i64 %n)
  call i32 @tl_mem_register_struct(ptr %b)
  %rest = urem i64 %n, 7
  %found = icmp eq i64 %rest, 0
  br i1 %found, label %return, label %continue
continue:
  call i32 @tl_mem_exit_scope()
  %next = add i64 %n, 1
  br label %loop
return:
  call i32 @tl_mem_unregister(ptr %b)       ; from whichever scope of the function holds it
  call i32 @tl_mem_function_exit()          ; closes the loop's scope and the function's
  ret ptr %b
}

define i64 @demo_early() {
  call i32 @tl_mem_enter_scope()
  %b = call ptr @find(i64 44)
  call i32 @tl_mem_register_struct(ptr %b)
  %n = load i64, ptr %b
  call i32 @tl_mem_exit_scope()
  ret i64 %n
}
