; Loops for hoisting.sh, behind the declarations of tl_runtime.ll. What is called in a loop is to be done before it,
; where that is allowed. The tensor is one of doubles that the caller holds.
declare ptr @tl_inl_tensor_data_unchecked(ptr)
declare i64 @tl_inl_tensor_numel_unchecked(ptr)
declare i64 @tl_inl_tensor_dim_unchecked(ptr, i64)
declare i64 @tl_inl_tensor_stride_unchecked(ptr, i64)
declare i64 @tl_inl_tensor_rank_unchecked(ptr)

; Of the loop is left one load, of the element.
define double @sum(ptr %t) {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi double [ 0.0, %entry ], [ %more, %body ]
  %n = call i64 @tl_inl_tensor_numel_unchecked(ptr %t)
  %inside = icmp slt i64 %i, %n
  br i1 %inside, label %body, label %end
body:
  %data = call ptr @tl_inl_tensor_data_unchecked(ptr %t)
  %at = getelementptr double, ptr %data, i64 %i
  %x = load double, ptr %at, !tbaa !0
  %more = fadd double %s, %x
  %next = add i64 %i, 1
  br label %test, !llvm.loop !8
end:
  ret double %s
}

; No load: the store of an element has a type for aliasing, which is not a header's.
define void @fill(ptr %t) {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %n = call i64 @tl_inl_tensor_dim_unchecked(ptr %t, i64 0)
  %inside = icmp slt i64 %i, %n
  br i1 %inside, label %body, label %end
body:
  %data = call ptr @tl_inl_tensor_data_unchecked(ptr %t)
  %stride = call i64 @tl_inl_tensor_stride_unchecked(ptr %t, i64 0)
  %rank = call i64 @tl_inl_tensor_rank_unchecked(ptr %t)
  %offset = mul i64 %i, %stride
  %at = getelementptr i64, ptr %data, i64 %offset
  %value = mul i64 %i, %rank
  store i64 %value, ptr %at, !tbaa !0
  %next = add i64 %i, 1
  br label %test, !llvm.loop !8
end:
  ret void
}

; Two calls: a checked accessor that fails writes the thread's status.
define double @checked(ptr %t) {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi double [ 0.0, %entry ], [ %more, %body ]
  %n = call i64 @tl_tensor_numel(ptr %t)
  %inside = icmp slt i64 %i, %n
  br i1 %inside, label %body, label %end
body:
  %data = call ptr @tl_tensor_data(ptr %t)
  %at = getelementptr double, ptr %data, i64 %i
  %x = load double, ptr %at, !tbaa !0
  %more = fadd double %s, %x
  %next = add i64 %i, 1
  br label %test, !llvm.loop !8
end:
  ret double %s
}

; No call: nothing in the loop changes the status.
define i32 @status(ptr %t, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %all = phi i32 [ 0, %entry ], [ %more, %body ]
  %status = call i32 @tl_last_status()
  %scaled = mul i32 %all, 31
  %mixed = xor i32 %scaled, %status
  %more = add i32 %mixed, 7
  %next = add i64 %i, 1
  %inside = icmp slt i64 %next, %n
  br i1 %inside, label %body, label %end, !llvm.loop !8
end:
  ret i32 %more
}

!0 = !{!1, !1, i64 0}
!1 = !{!"element", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"Simple C/C++ TBAA"}
!8 = distinct !{!8, !9, !10}
!9 = !{!"llvm.loop.unroll.disable"}
!10 = !{!"llvm.loop.vectorize.enable", i1 false}
