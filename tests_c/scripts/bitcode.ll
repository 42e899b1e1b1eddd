; A program over tl_inline.ll, for bitcode.sh: its status is 0 where every operation did what it should.
declare i64 @tl_ptr_refcount(ptr)
declare i32 @tl_thread_detach()
declare void @tl_inl_begin(ptr)
declare void @tl_inl_retake(ptr)
declare i32 @tl_inl_mem_enter_scope(ptr)
declare i32 @tl_inl_mem_exit_scope(ptr)
declare i32 @tl_inl_mem_function_enter(ptr, i64)
declare i32 @tl_inl_mem_function_exit(ptr)
declare ptr @tl_inl_mem_get_buffer(ptr, i64, i64)
declare ptr @tl_inl_mem_new(ptr, i64)
declare ptr @tl_inl_mem_alloc(ptr, i64)
declare ptr @tl_inl_ptr_acquire(ptr, ptr)
declare i32 @tl_inl_ptr_release(ptr, ptr)
declare i1 @tl_inl_ptr_is_unique(ptr, ptr)
declare i64 @tl_inl_get_scope_depth(ptr)

; Whether an object has one reference, which is dropped in any case: two operations, and one search.
define i1 @drop(ptr %object) {
  %thread = alloca [8 x ptr]
  call void @tl_inl_begin(ptr %thread)
  %unique = call i1 @tl_inl_ptr_is_unique(ptr %thread, ptr %object)
  %status = call i32 @tl_inl_ptr_release(ptr %thread, ptr %object)
  ret i1 %unique
}

; A million rounds of a scope with an object, a pair of counts and a floating object. Returns the object's count, 1.
define i64 @rounds(i64 %n) {
entry:
  %thread = alloca [8 x ptr]
  call void @tl_inl_begin(ptr %thread)
  %entered = call i32 @tl_inl_mem_function_enter(ptr %thread, i64 1)
  %kept = call ptr @tl_inl_mem_new(ptr %thread, i64 40)
  %buffer = call ptr @tl_inl_mem_get_buffer(ptr %thread, i64 0, i64 64)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  store i64 %i, ptr %buffer
  %s1 = call i32 @tl_inl_mem_enter_scope(ptr %thread)
  %object = call ptr @tl_inl_mem_new(ptr %thread, i64 24)
  %same = call ptr @tl_inl_ptr_acquire(ptr %thread, ptr %kept)
  %floating = call ptr @tl_inl_mem_alloc(ptr %thread, i64 24)
  %unique = call i1 @drop(ptr %floating)
  call void @tl_inl_retake(ptr %thread)
  %s3 = call i32 @tl_inl_ptr_release(ptr %thread, ptr %kept)
  %s4 = call i32 @tl_inl_mem_exit_scope(ptr %thread)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  %count = call i64 @tl_ptr_refcount(ptr %kept)
  call void @tl_inl_retake(ptr %thread)
  %left = call i32 @tl_inl_mem_function_exit(ptr %thread)
  %depth = call i64 @tl_inl_get_scope_depth(ptr %thread)
  %deeper = mul i64 %depth, 1000
  %all = add i64 %count, %deeper
  ret i64 %all
}

define i32 @main() {
  %first = call i64 @rounds(i64 100000)
  %detached = call i32 @tl_thread_detach()
  %second = call i64 @rounds(i64 100000)
  %sum = add i64 %first, %second
  %right = icmp eq i64 %sum, 2
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
