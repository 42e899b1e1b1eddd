; A loop that counts an object, with the operations of tl_inline.ll instead of calls.
declare void @tl_inl_begin(ptr)
declare void @tl_inl_retake(ptr)
declare i32 @tl_inl_mem_enter_scope(ptr)
declare i32 @tl_inl_mem_exit_scope(ptr)
declare ptr @tl_inl_mem_new(ptr, i64)
declare ptr @tl_inl_ptr_acquire(ptr, ptr)
declare i32 @tl_inl_ptr_release(ptr, ptr)
declare i64 @tl_ptr_refcount(ptr)
declare i32 @printf(ptr, ...)

@text = private constant [25 x i8] c"%lld references at last\0A\00"

define i32 @main() {
entry:
  %thread = alloca [8 x ptr] ; a tl_inl_thread
  call void @tl_inl_begin(ptr %thread)
  call i32 @tl_inl_mem_enter_scope(ptr %thread)
  %object = call ptr @tl_inl_mem_new(ptr %thread, i64 32)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @tl_inl_retake(ptr %thread) ; in case an operation had to make a call
  %same = call ptr @tl_inl_ptr_acquire(ptr %thread, ptr %object)
  %status = call i32 @tl_inl_ptr_release(ptr %thread, ptr %object)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000000
  br i1 %more, label %loop, label %end
end:
  %held = call ptr @tl_inl_ptr_acquire(ptr %thread, ptr %object)
  %count = call i64 @tl_ptr_refcount(ptr %object)
  call i32 (ptr, ...) @printf(ptr @text, i64 %count)
  call void @tl_inl_retake(ptr %thread) ; after calls that are not inlined
  %left = call i32 @tl_inl_ptr_release(ptr %thread, ptr %object)
  call i32 @tl_inl_mem_exit_scope(ptr %thread)
  ret i32 0
}
