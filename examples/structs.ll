; What the TL compiler emits for structs since 5d3c2d36, with its own declarations.
; struct Node { value: i64, next: Node }
%Node = type { i64, ptr }
declare void @tl_mem_function_enter(i64)
declare void @tl_mem_function_exit()
declare void @tl_mem_enter_scope()
declare void @tl_mem_exit_scope()
declare void @tl_mem_register_struct(ptr)
declare void @tl_mem_unregister(ptr)
declare void @tl_mem_free(ptr)
declare void @tl_mem_purge()
declare void @tl_ptr_inc_ref(ptr)
declare i32 @tl_ptr_dec_ref(ptr)
declare i64 @tl_ptr_refcount(ptr)
declare ptr @malloc(i64)
declare i32 @printf(ptr, ...)

@text = private constant [29 x i8] c"%lld nodes, %lld references\0A\00"

; The release of a variable: out of the scope, one reference less, and at 0 the fields, then the memory.
define void @release(ptr %node) {
  %none = icmp eq ptr %node, null
  br i1 %none, label %end, label %count
count:
  call void @tl_mem_unregister(ptr %node)
  %last = call i32 @tl_ptr_dec_ref(ptr %node)
  %over = icmp ne i32 %last, 0
  br i1 %over, label %free, label %end
free:
  %field = getelementptr %Node, ptr %node, i32 0, i32 1
  %next = load ptr, ptr %field
  call void @release(ptr %next)
  call void @tl_mem_free(ptr %node)
  br label %end
end:
  ret void
}

; A struct is returned through the first parameter, and leaves its scope before that ends.
define void @push(ptr %result, ptr %list, i64 %value) {
  call void @tl_mem_function_enter(i64 0)
  call void @tl_mem_enter_scope()
  %node = call ptr @malloc(i64 16)
  call void @tl_mem_register_struct(ptr %node)
  store i64 %value, ptr %node
  %field = getelementptr %Node, ptr %node, i32 0, i32 1
  store ptr %list, ptr %field
  call void @tl_ptr_inc_ref(ptr %list) ; the field holds what a variable has
  store ptr %node, ptr %result
  call void @tl_mem_unregister(ptr %node)
  call void @tl_mem_exit_scope()
  call void @tl_mem_function_exit()
  ret void
}

; The callee counts its argument, and once the variable that has it: the address of an alloca, which has no count.
define i64 @length(ptr %list) {
entry:
  call void @tl_mem_function_enter(i64 1)
  call void @tl_ptr_inc_ref(ptr %list)
  %variable = alloca ptr
  store ptr %list, ptr %variable
  call void @tl_ptr_inc_ref(ptr %variable)
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %more, %step ]
  %at = phi ptr [ %list, %entry ], [ %next, %step ]
  %ends = icmp eq ptr %at, null
  br i1 %ends, label %end, label %step
step:
  call void @tl_mem_enter_scope() ; of each iteration
  %field = getelementptr %Node, ptr %at, i32 0, i32 1
  %next = load ptr, ptr %field
  %more = add i64 %n, 1
  call void @tl_mem_exit_scope()
  br label %loop
end:
  call void @release(ptr %list)
  call void @tl_mem_function_exit()
  ret i64 %n
}

define i32 @main() {
  call void @tl_mem_function_enter(i64 2)
  call void @tl_mem_enter_scope()
  %result = alloca ptr
  call void @push(ptr %result, ptr null, i64 1)
  %one = load ptr, ptr %result
  call void @tl_mem_register_struct(ptr %one)
  call void @push(ptr %result, ptr %one, i64 2)
  %two = load ptr, ptr %result
  call void @tl_mem_register_struct(ptr %two)
  %nodes = call i64 @length(ptr %two)
  %references = call i64 @tl_ptr_refcount(ptr %one)
  call i32 (ptr, ...) @printf(ptr @text, i64 %nodes, i64 %references)
  call void @release(ptr %one)
  call void @release(ptr %two)
  call void @tl_mem_purge()
  call void @tl_mem_exit_scope()
  call void @tl_mem_function_exit()
  ret i32 0
}
