; v = [];  for n in 0..10 { v.push(box(n)) };  x = v.pop();  v[0] = x;  return v[0].n * 100 + len(v)
declare ptr @box(i64)

define i64 @demo_vec() {
entry:
  call i32 @tl_mem_function_enter(i64 0)
  %v = call ptr @tl_vec_new(i64 0)
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  call i32 @tl_mem_enter_scope()
  %box = call ptr @box(i64 %n)
  call i32 @tl_mem_register_struct(ptr %box)
  call i32 @tl_vec_push(ptr %v, ptr %box)   ; the Vec takes a reference of its own
  call i32 @tl_mem_exit_scope()
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 10
  br i1 %more, label %loop, label %end
end:
  %x = call ptr @tl_vec_pop(ptr %v)         ; the Vec's reference floats
  call i32 @tl_mem_register_struct(ptr %x)  ; the scope's
  call i32 @tl_vec_set(ptr %v, i64 0, ptr %x) ; acquires x, releases the old element
  %first = call ptr @tl_vec_get(ptr %v, i64 0) ; borrowed, until the Vec changes
  %value = load i64, ptr %first
  %length = call i64 @tl_vec_len(ptr %v)
  %hundreds = mul i64 %value, 100
  %all = add i64 %hundreds, %length
  call i32 @tl_mem_function_exit()          ; the Vec releases its elements
  ret i64 %all
}
