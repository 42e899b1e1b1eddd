; for i in 0.. { a = box(i);  { b = box(i * i);  if b.n > 50 { break } } };  return i
declare ptr @box(i64)

define i64 @demo_break() {
entry:
  %depth = call i64 @tl_get_scope_depth()   ; what is open outside of the loop
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %continue ]
  call i32 @tl_mem_enter_scope()
  %a = call ptr @box(i64 %i)
  call i32 @tl_mem_register_struct(ptr %a)
  call i32 @tl_mem_enter_scope()
  %square = mul i64 %i, %i
  %b = call ptr @box(i64 %square)
  call i32 @tl_mem_register_struct(ptr %b)
  %n = load i64, ptr %b
  %found = icmp ugt i64 %n, 50
  br i1 %found, label %break, label %continue
continue:
  call i32 @tl_mem_exit_scope()
  call i32 @tl_mem_exit_scope()
  %next = add i64 %i, 1
  br label %loop
break:
  call i32 @tl_mem_exit_scopes_to(i64 %depth) ; both scopes of this turn
  ret i64 %i
}
