; func larger(a, b) { if a.n > b.n { return a }  return b }
declare ptr @box(i64)

define ptr @larger(ptr %a, ptr %b) {
  call i32 @tl_mem_function_enter(i64 0)
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %first = icmp sgt i64 %x, %y
  %larger = select i1 %first, ptr %a, ptr %b
  call i32 @tl_mem_unregister(ptr %larger)  ; the caller's: TL_E_NOT_REGISTERED, and nothing changes
  call i32 @tl_mem_function_exit()
  ret ptr %larger
}

define i64 @demo_parameter() {
  call i32 @tl_mem_function_enter(i64 0)
  %a = call ptr @box(i64 7)
  call i32 @tl_mem_register_struct(ptr %a)
  %b = call ptr @box(i64 9)
  call i32 @tl_mem_register_struct(ptr %b)
  %larger = call ptr @larger(ptr %a, ptr %b)
  call i32 @tl_mem_register_struct(ptr %larger) ; no reference floats, so this counts: 2
  %n = load i64, ptr %larger
  call i32 @tl_mem_function_exit()          ; releases one reference of a, two of b
  ret i64 %n
}
