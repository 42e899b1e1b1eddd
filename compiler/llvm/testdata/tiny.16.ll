; tiny_model: an execution plan of TL Runtime.
; For LLVM 16 and later.

%tl_plan_tensor = type { ptr, ptr, i64, i32, i32, i32, i32 }

%tl_plan_info = type { i64, ptr, ptr, i64, i64, i64, i64, i64, ptr, ptr, ptr, i64, i64, i64 }

@tiny_model_text = private unnamed_addr constant [11 x i8] c"tiny_model\00"

@tiny_model_json = constant [275 x i8] c"{\22name\22:\22tiny_model\22,\22frame_bytes\22:192,\22slots\22:0,\22memory\22:\22frame\22,\22alignment\22:64,\22inputs\22:[{\22name\22:\22v0\22,\22dtype\22:\22f32\22,\22shape\22:[2,5],\22bytes\22:40}],\22outputs\22:[{\22name\22:\22v4\22,\22dtype\22:\22f32\22,\22shape\22:[2,5],\22bytes\22:40}],\22constants\22:[{\22name\22:\22b\22,\22dtype\22:\22f32\22,\22shape\22:[5],\22bytes\22:20}]}\00"

@tiny_model_inputs0_shape = private unnamed_addr constant [2 x i64] [i64 2, i64 5]

@tiny_model_inputs0 = private unnamed_addr constant [3 x i8] c"v0\00"

@tiny_model_inputs = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { ptr @tiny_model_inputs0, ptr @tiny_model_inputs0_shape, i64 40, i32 0, i32 2, i32 0, i32 0 }]

@tiny_model_outputs0_shape = private unnamed_addr constant [2 x i64] [i64 2, i64 5]

@tiny_model_outputs0 = private unnamed_addr constant [3 x i8] c"v4\00"

@tiny_model_outputs = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { ptr @tiny_model_outputs0, ptr @tiny_model_outputs0_shape, i64 40, i32 0, i32 2, i32 0, i32 0 }]

@tiny_model_constants0_shape = private unnamed_addr constant [1 x i64] [i64 5]

@tiny_model_constants0 = private unnamed_addr constant [2 x i8] c"b\00"

@tiny_model_constants = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { ptr @tiny_model_constants0, ptr @tiny_model_constants0_shape, i64 20, i32 0, i32 1, i32 0, i32 0 }]

@tiny_model_info = constant %tl_plan_info { i64 112, ptr @tiny_model_text, ptr @tiny_model_json, i64 192, i64 0, i64 1, i64 1, i64 1, ptr @tiny_model_inputs, ptr @tiny_model_outputs, ptr @tiny_model_constants, i64 0, i64 64, i64 0 }

define internal void @tiny_model_0_Mul(ptr noalias %p0, ptr noalias readonly %p1, ptr noalias readonly %p2) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b10 ]
  %v5 = mul nsw i64 %i3, 5
  %v6 = getelementptr float, ptr %p0, i64 %v5
  %v7 = mul nsw i64 %i3, 5
  %v8 = getelementptr float, ptr %p1, i64 %v7
  br label %b9
b9:
  %i11 = phi i64 [ 0, %b1 ], [ %i12, %b9 ]
  %v13 = getelementptr float, ptr %v6, i64 %i11
  %v14 = getelementptr float, ptr %v8, i64 %i11
  %v15 = getelementptr float, ptr %p2, i64 %i11
  %v16 = load float, ptr %v14, align 4
  %v17 = load float, ptr %v15, align 4
  %v18 = fmul contract float %v16, %v17
  store float %v18, ptr %v13, align 4
  %i12 = add nuw nsw i64 %i11, 1
  %v19 = icmp slt i64 %i12, 5
  br i1 %v19, label %b9, label %b10, !llvm.loop !0
b10:
  %i4 = add nuw nsw i64 %i3, 1
  %v20 = icmp slt i64 %i4, 2
  br i1 %v20, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define internal void @tiny_model_1_Relu(ptr noalias %p0, ptr noalias readonly %p1) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b1 ]
  %v5 = getelementptr float, ptr %p0, i64 %i3
  %v6 = getelementptr float, ptr %p1, i64 %i3
  %v7 = load float, ptr %v6, align 4
  %v8 = fcmp olt float %v7, 0x0000000000000000
  %v9 = select i1 %v8, float 0x0000000000000000, float %v7
  store float %v9, ptr %v5, align 4
  %i4 = add nuw nsw i64 %i3, 1
  %v10 = icmp slt i64 %i4, 10
  br i1 %v10, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define internal void @tiny_model_2_Add(ptr noalias %p0, ptr noalias readonly %p1, ptr noalias readonly %p2) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b1 ]
  %v5 = getelementptr float, ptr %p0, i64 %i3
  %v6 = getelementptr float, ptr %p1, i64 %i3
  %v7 = getelementptr float, ptr %p2, i64 %i3
  %v8 = load float, ptr %v6, align 4
  %v9 = load float, ptr %v7, align 4
  %v10 = fadd contract float %v8, %v9
  store float %v10, ptr %v5, align 4
  %i4 = add nuw nsw i64 %i3, 1
  %v11 = icmp slt i64 %i4, 10
  br i1 %v11, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define i32 @tiny_model(ptr %inputs, ptr %outputs, ptr %constants) {
entry:
  %v1 = load ptr, ptr %inputs, align 8
  %v2 = load ptr, ptr %constants, align 8
  %v3 = load ptr, ptr %outputs, align 8
  %v4 = icmp eq ptr %v1, null
  %v5 = icmp eq ptr %v2, null
  %v6 = icmp eq ptr %v3, null
  %v7 = or i1 %v4, %v5
  %v8 = or i1 %v7, %v6
  br i1 %v8, label %invalid, label %enter
invalid:
  ret i32 1
enter:
  %frame = call ptr @tl_mem_frame_enter(i64 192)
  %v9 = icmp eq ptr %frame, null
  br i1 %v9, label %refused, label %run
refused:
  %why = call i32 @tl_last_status()
  ret i32 %why
run:
  %v10 = getelementptr i8, ptr %frame, i64 64
  call void @tiny_model_0_Mul(ptr %frame, ptr %v1, ptr %v2)
  call void @tiny_model_1_Relu(ptr %v10, ptr %frame)
  call void @tiny_model_2_Add(ptr %v3, ptr %v10, ptr %v10)
  %v11 = call i32 @tl_mem_frame_exit()
  ret i32 %v11
}

declare ptr @tl_mem_frame_enter(i64)

declare i32 @tl_last_status() nounwind readonly willreturn

declare i32 @tl_mem_frame_exit()

attributes #0 = { nofree noinline nosync nounwind willreturn memory(argmem: readwrite) }
attributes #1 = { nofree nosync nounwind willreturn memory(none) }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
