define ptr @build(i64 %n) {
.b0:
  %head.at = alloca ptr
  %i.at = alloca i64
  call void @function$enter(i64 0)
  store ptr null, ptr %head.at
  store i64 0, ptr %i.at
  br label %.b1
.b1:
  %.1 = load i64, ptr %i.at
  %.2 = icmp slt i64 %.1, %n
  %t.3 = zext i1 %.2 to i64
  %.3 = icmp ne i64 %t.3, 0
  br i1 %.3, label %.b2, label %.b3
.b2:
  call void @scope$enter()
  %t.4 = call ptr @object$new(ptr @Node$type)
  %.4 = load i64, ptr %i.at
  %.5 = getelementptr inbounds i8, ptr %t.4, i64 0
  store i64 %.4, ptr %.5
  %.6 = load ptr, ptr %head.at
  %.7 = getelementptr inbounds i8, ptr %t.4, i64 8
  store ptr %.6, ptr %.7
  call ptr @tl_ptr_acquire(ptr %t.4)
  store ptr %t.4, ptr %head.at
  %.8 = load i64, ptr %i.at
  %.9 = add i64 %.8, 1
  store i64 %.9, ptr %i.at
  call i32 @tl_mem_exit_scope()
  br label %.b1
.b3:
  br label %.b4
.b4:
  %.10 = load ptr, ptr %head.at
  call i32 @tl_mem_register_struct(ptr %.10)
  %.11 = load ptr, ptr %head.at
  call i32 @tl_ptr_release(ptr %.11)
  %.12 = load ptr, ptr %head.at
  call i32 @tl_mem_unregister(ptr %.12)
  call i32 @tl_mem_function_exit()
  %.13 = load ptr, ptr %head.at
  ret ptr %.13
}
