; A loop over the elements of a tensor that the function holds. Address and length are asked for in each turn, by
; accessors that check nothing, and LLVM loads them once, before the loop.
declare ptr @tl_inl_tensor_data_unchecked(ptr)
declare i64 @tl_inl_tensor_len_unchecked(ptr)
declare i32 @tl_mem_enter_scope()
declare i32 @tl_mem_exit_scope()
declare ptr @tl_tensor_new(ptr, i64, ptr)
declare i32 @printf(ptr, ...)

@text = private constant [13 x i8] c"%g, ..., %g\0A\00"
@numbers = private constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
@shape = private constant [1 x i64] [i64 4]

define void @double(ptr %t) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %data = call ptr @tl_inl_tensor_data_unchecked(ptr %t)
  %at = getelementptr float, ptr %data, i64 %i
  %x = load float, ptr %at, !tbaa !0
  %twice = fadd float %x, %x
  store float %twice, ptr %at, !tbaa !0
  %next = add i64 %i, 1
  %length = call i64 @tl_inl_tensor_len_unchecked(ptr %t)
  %more = icmp slt i64 %next, %length
  br i1 %more, label %loop, label %end
end:
  ret void
}

define i32 @main() {
  call i32 @tl_mem_enter_scope()
  %t = call ptr @tl_tensor_new(ptr @numbers, i64 1, ptr @shape)
  call void @double(ptr %t)
  %data = call ptr @tl_inl_tensor_data_unchecked(ptr %t)
  %last.at = getelementptr float, ptr %data, i64 3
  %first = load float, ptr %data, !tbaa !0
  %last = load float, ptr %last.at, !tbaa !0
  %first.wide = fpext float %first to double
  %last.wide = fpext float %last to double
  call i32 (ptr, ...) @printf(ptr @text, double %first.wide, double %last.wide)
  call i32 @tl_mem_exit_scope()
  ret i32 0
}

; The type of elements for aliasing: any that is not "tl_tensor_header", beside the scalar types of C.
!0 = !{!1, !1, i64 0}
!1 = !{!"element", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"Simple C/C++ TBAA"}
