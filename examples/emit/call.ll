; func demo_call() { return box(20).n + box(22).n }
declare ptr @box(i64)

define i64 @demo_call() {
  call i32 @tl_mem_function_enter(i64 0)
  %a = call ptr @box(i64 20)
  call i32 @tl_mem_register_struct(ptr %a)  ; before anything else is called
  %b = call ptr @box(i64 22)
  call i32 @tl_mem_register_struct(ptr %b)
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %sum = add i64 %x, %y
  call i32 @tl_mem_function_exit()          ; releases both
  ret i64 %sum
}
