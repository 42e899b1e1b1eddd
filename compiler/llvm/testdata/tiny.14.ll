; tiny_model: an execution plan of TL Runtime.
; For LLVM 14, without -opaque-pointers.

%tl_plan_tensor = type { i8*, i8*, i64, i32, i32, i32, i32 }

%tl_plan_info = type { i64, i8*, i8*, i64, i64, i64, i64, i64, i8*, i8*, i8*, i64, i64, i64 }

@tiny_model_text = private unnamed_addr constant [11 x i8] c"tiny_model\00"

@tiny_model_json = constant [275 x i8] c"{\22name\22:\22tiny_model\22,\22frame_bytes\22:192,\22slots\22:0,\22memory\22:\22frame\22,\22alignment\22:64,\22inputs\22:[{\22name\22:\22v0\22,\22dtype\22:\22f32\22,\22shape\22:[2,5],\22bytes\22:40}],\22outputs\22:[{\22name\22:\22v4\22,\22dtype\22:\22f32\22,\22shape\22:[2,5],\22bytes\22:40}],\22constants\22:[{\22name\22:\22b\22,\22dtype\22:\22f32\22,\22shape\22:[5],\22bytes\22:20}]}\00"

@tiny_model_inputs0_shape = private unnamed_addr constant [2 x i64] [i64 2, i64 5]

@tiny_model_inputs0 = private unnamed_addr constant [3 x i8] c"v0\00"

@tiny_model_inputs = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { i8* bitcast ([3 x i8]* @tiny_model_inputs0 to i8*), i8* bitcast ([2 x i64]* @tiny_model_inputs0_shape to i8*), i64 40, i32 0, i32 2, i32 0, i32 0 }]

@tiny_model_outputs0_shape = private unnamed_addr constant [2 x i64] [i64 2, i64 5]

@tiny_model_outputs0 = private unnamed_addr constant [3 x i8] c"v4\00"

@tiny_model_outputs = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { i8* bitcast ([3 x i8]* @tiny_model_outputs0 to i8*), i8* bitcast ([2 x i64]* @tiny_model_outputs0_shape to i8*), i64 40, i32 0, i32 2, i32 0, i32 0 }]

@tiny_model_constants0_shape = private unnamed_addr constant [1 x i64] [i64 5]

@tiny_model_constants0 = private unnamed_addr constant [2 x i8] c"b\00"

@tiny_model_constants = private unnamed_addr constant [1 x %tl_plan_tensor] [%tl_plan_tensor { i8* bitcast ([2 x i8]* @tiny_model_constants0 to i8*), i8* bitcast ([1 x i64]* @tiny_model_constants0_shape to i8*), i64 20, i32 0, i32 1, i32 0, i32 0 }]

@tiny_model_info = constant %tl_plan_info { i64 112, i8* bitcast ([11 x i8]* @tiny_model_text to i8*), i8* bitcast ([275 x i8]* @tiny_model_json to i8*), i64 192, i64 0, i64 1, i64 1, i64 1, i8* bitcast ([1 x %tl_plan_tensor]* @tiny_model_inputs to i8*), i8* bitcast ([1 x %tl_plan_tensor]* @tiny_model_outputs to i8*), i8* bitcast ([1 x %tl_plan_tensor]* @tiny_model_constants to i8*), i64 0, i64 64, i64 0 }

define internal void @tiny_model_0_Mul(i8* noalias %p0, i8* noalias readonly %p1, i8* noalias readonly %p2) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b14 ]
  %v5 = mul nsw i64 %i3, 5
  %v6 = bitcast i8* %p0 to float*
  %v7 = getelementptr float, float* %v6, i64 %v5
  %v8 = bitcast float* %v7 to i8*
  %v9 = mul nsw i64 %i3, 5
  %v10 = bitcast i8* %p1 to float*
  %v11 = getelementptr float, float* %v10, i64 %v9
  %v12 = bitcast float* %v11 to i8*
  br label %b13
b13:
  %i15 = phi i64 [ 0, %b1 ], [ %i16, %b13 ]
  %v17 = bitcast i8* %v8 to float*
  %v18 = getelementptr float, float* %v17, i64 %i15
  %v19 = bitcast float* %v18 to i8*
  %v20 = bitcast i8* %v12 to float*
  %v21 = getelementptr float, float* %v20, i64 %i15
  %v22 = bitcast float* %v21 to i8*
  %v23 = bitcast i8* %p2 to float*
  %v24 = getelementptr float, float* %v23, i64 %i15
  %v25 = bitcast float* %v24 to i8*
  %v26 = bitcast i8* %v22 to float*
  %v27 = load float, float* %v26, align 4
  %v28 = bitcast i8* %v25 to float*
  %v29 = load float, float* %v28, align 4
  %v30 = fmul contract float %v27, %v29
  %v31 = bitcast i8* %v19 to float*
  store float %v30, float* %v31, align 4
  %i16 = add nuw nsw i64 %i15, 1
  %v32 = icmp slt i64 %i16, 5
  br i1 %v32, label %b13, label %b14, !llvm.loop !0
b14:
  %i4 = add nuw nsw i64 %i3, 1
  %v33 = icmp slt i64 %i4, 2
  br i1 %v33, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define internal void @tiny_model_1_Relu(i8* noalias %p0, i8* noalias readonly %p1) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b1 ]
  %v5 = bitcast i8* %p0 to float*
  %v6 = getelementptr float, float* %v5, i64 %i3
  %v7 = bitcast float* %v6 to i8*
  %v8 = bitcast i8* %p1 to float*
  %v9 = getelementptr float, float* %v8, i64 %i3
  %v10 = bitcast float* %v9 to i8*
  %v11 = bitcast i8* %v10 to float*
  %v12 = load float, float* %v11, align 4
  %v13 = fcmp olt float %v12, 0x0000000000000000
  %v14 = select i1 %v13, float 0x0000000000000000, float %v12
  %v15 = bitcast i8* %v7 to float*
  store float %v14, float* %v15, align 4
  %i4 = add nuw nsw i64 %i3, 1
  %v16 = icmp slt i64 %i4, 10
  br i1 %v16, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define internal void @tiny_model_2_Add(i8* noalias %p0, i8* noalias readonly %p1, i8* noalias readonly %p2) #0 {
entry:
  br label %b1
b1:
  %i3 = phi i64 [ 0, %entry ], [ %i4, %b1 ]
  %v5 = bitcast i8* %p0 to float*
  %v6 = getelementptr float, float* %v5, i64 %i3
  %v7 = bitcast float* %v6 to i8*
  %v8 = bitcast i8* %p1 to float*
  %v9 = getelementptr float, float* %v8, i64 %i3
  %v10 = bitcast float* %v9 to i8*
  %v11 = bitcast i8* %p2 to float*
  %v12 = getelementptr float, float* %v11, i64 %i3
  %v13 = bitcast float* %v12 to i8*
  %v14 = bitcast i8* %v10 to float*
  %v15 = load float, float* %v14, align 4
  %v16 = bitcast i8* %v13 to float*
  %v17 = load float, float* %v16, align 4
  %v18 = fadd contract float %v15, %v17
  %v19 = bitcast i8* %v7 to float*
  store float %v18, float* %v19, align 4
  %i4 = add nuw nsw i64 %i3, 1
  %v20 = icmp slt i64 %i4, 10
  br i1 %v20, label %b1, label %b2, !llvm.loop !0
b2:
  ret void
}

define i32 @tiny_model(i8* %inputs, i8* %outputs, i8* %constants) {
entry:
  %v1 = bitcast i8* %inputs to i8**
  %v2 = load i8*, i8** %v1, align 8
  %v3 = bitcast i8* %constants to i8**
  %v4 = load i8*, i8** %v3, align 8
  %v5 = bitcast i8* %outputs to i8**
  %v6 = load i8*, i8** %v5, align 8
  %v7 = icmp eq i8* %v2, null
  %v8 = icmp eq i8* %v4, null
  %v9 = icmp eq i8* %v6, null
  %v10 = or i1 %v7, %v8
  %v11 = or i1 %v10, %v9
  br i1 %v11, label %invalid, label %enter
invalid:
  ret i32 1
enter:
  %frame = call i8* @tl_mem_frame_enter(i64 192)
  %v12 = icmp eq i8* %frame, null
  br i1 %v12, label %refused, label %run
refused:
  %why = call i32 @tl_last_status()
  ret i32 %why
run:
  %v13 = getelementptr i8, i8* %frame, i64 64
  call void @tiny_model_0_Mul(i8* %frame, i8* %v2, i8* %v4)
  call void @tiny_model_1_Relu(i8* %v13, i8* %frame)
  call void @tiny_model_2_Add(i8* %v6, i8* %v13, i8* %v13)
  %v14 = call i32 @tl_mem_frame_exit()
  ret i32 %v14
}

declare i8* @tl_mem_frame_enter(i64)

declare i32 @tl_last_status() nounwind readonly willreturn

declare i32 @tl_mem_frame_exit()

attributes #0 = { argmemonly nofree noinline nosync nounwind willreturn }
attributes #1 = { nofree nosync nounwind readnone willreturn }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
