; struct Node { value: int, next: Node }
@node.name = private constant [5 x i8] c"Node\00"
@node.pointers = private constant [1 x i64] [i64 8] ; offsets of the references
@node.desc = private constant { ptr, i64, ptr, i64, ptr, i32 } { ptr @node.name, i64 16, ptr @node.pointers, i64 1,
  ptr null, i32 0 }
@node.type = internal global i32 0

; Types are defined once, before any function of the module runs.
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @node.define, ptr null }]
define internal void @node.define() {
  call i32 @tl_type_define(ptr @node.desc, ptr @node.type)
  ret void
}

; node.next = next
define void @set_next(ptr %node, ptr %next) {
  %field = getelementptr i8, ptr %node, i64 8
  call ptr @tl_ptr_acquire(ptr %next)       ; the field's reference
  %old = load ptr, ptr %field
  store ptr %next, ptr %field
  call i32 @tl_ptr_release(ptr %old)        ; last: it may run a destructor, which sees the new value
  ret void
}

; a = Node{1};  a.next = Node{2};  a.next = Node{3};  a.next = a.next;  return a.next.value
define i64 @demo_field() {
  call i32 @tl_mem_function_enter(i64 0)
  %type = load i32, ptr @node.type
  %a = call ptr @tl_object_new(i32 %type)   ; zeroed: the field holds null
  %b = call ptr @tl_object_new(i32 %type)
  store i64 2, ptr %b
  call void @set_next(ptr %a, ptr %b)
  %c = call ptr @tl_object_new(i32 %type)
  store i64 3, ptr %c
  call void @set_next(ptr %a, ptr %c)
  call void @set_next(ptr %a, ptr %c)       ; itself: acquired before it is released
  %field = getelementptr i8, ptr %a, i64 8
  %next = load ptr, ptr %field              ; borrowed from the field
  %n = load i64, ptr %next
  call i32 @tl_mem_function_exit()          ; a ends, and its field is released
  ret i64 %n
}
