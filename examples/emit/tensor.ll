; func cubes(t) { s = t * t;  return s * t }   tensors of four f32; s never leaves the function
@shape = private constant [1 x i64] [i64 4]
@numbers = private constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]

define internal void @multiply(ptr %out, ptr %a, ptr %b) { ; the elements' addresses
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at.a = getelementptr float, ptr %a, i64 %i
  %at.b = getelementptr float, ptr %b, i64 %i
  %at.out = getelementptr float, ptr %out, i64 %i
  %x = load float, ptr %at.a
  %y = load float, ptr %at.b
  %product = fmul float %x, %y
  store float %product, ptr %at.out
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %loop, label %end
end:
  ret void
}

define ptr @cubes(ptr %t) {
  call i32 @tl_mem_function_enter(i64 1)    ; one slot
  %in = call ptr @tl_tensor_data(ptr %t)
  %s = call ptr @tl_tensor_in_slot(i64 0, i32 0, i64 1, ptr @shape) ; nothing is allocated or counted
  %squares = call ptr @tl_tensor_data(ptr %s)
  call void @multiply(ptr %squares, ptr %in, ptr %in)
  %r = call ptr @tl_tensor_empty(i32 0, i32 0, i64 1, ptr @shape) ; f32, on the CPU
  %out = call ptr @tl_tensor_data(ptr %r)
  call void @multiply(ptr %out, ptr %squares, ptr %in)
  %result = call ptr @tl_tensor_prepare_return(ptr %r) ; unregisters it; a tensor in a slot would be copied
  call i32 @tl_mem_function_exit()          ; the slot is gone
  ret ptr %result
}

define i64 @demo_tensor() {
  call i32 @tl_mem_function_enter(i64 0)
  %t = call ptr @tl_tensor_new(ptr @numbers, i64 1, ptr @shape)
  %cubes = call ptr @cubes(ptr %t)
  call i32 @tl_mem_register_tensor(ptr %cubes)
  %data = call ptr @tl_tensor_data(ptr %cubes)
  %at = getelementptr float, ptr %data, i64 3
  %last = load float, ptr %at
  %n = fptosi float %last to i64
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
