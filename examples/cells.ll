; A list of cells that is mapped in place: what a compiler emits that owns its values, consumes parameters and reuses cells.
; { value, next } with inlined operations of tl_inline.ll.
declare void @tl_inl_begin(ptr)
declare void @tl_inl_retake(ptr)
declare ptr @tl_inl_cell_new(ptr, i64)
declare ptr @tl_inl_cell_dup(ptr)
declare i1 @tl_inl_cell_is_unique(ptr)
declare i1 @tl_inl_cell_drop(ptr)
declare i32 @tl_inl_cell_free(ptr, ptr)
declare i32 @printf(ptr, ...)

@text = private constant [34 x i8] c"%lld and %lld, in the same cells\0A\00"

; cons(value, next), for the constructor of a list
define ptr @cons(i64 %value, ptr %next) {
  %thread = alloca [8 x ptr] ; a tl_inl_thread
  call void @tl_inl_begin(ptr %thread)
  %cell = call ptr @tl_inl_cell_new(ptr %thread, i64 16)
  store i64 %value, ptr %cell
  %at = getelementptr ptr, ptr %cell, i64 1
  store ptr %next, ptr %at
  ret ptr %cell
}

; double(list) consumes the list: where the reference is the only one, the cell is built anew; else what it refers to gets a
; reference before the list loses one, since another thread may drop the last, and a new cell is made.
define ptr @double(ptr %list) {
entry:
  %end = icmp eq ptr %list, null
  br i1 %end, label %nothing, label %match
nothing:
  ret ptr null
match:
  %value = load i64, ptr %list
  %at = getelementptr ptr, ptr %list, i64 1
  %next = load ptr, ptr %at
  %twice = mul i64 %value, 2
  %only = call i1 @tl_inl_cell_is_unique(ptr %list)
  br i1 %only, label %reuse, label %copy
reuse:
  %rest = call ptr @double(ptr %next)
  store i64 %twice, ptr %list
  store ptr %rest, ptr %at
  ret ptr %list
copy:
  %tail = icmp eq ptr %next, null
  br i1 %tail, label %new.cell, label %dup
dup:
  %same = call ptr @tl_inl_cell_dup(ptr %next)
  br label %new.cell
new.cell:
  call void @drop(ptr %list)
  %copied = call ptr @double(ptr %next)
  %new = call ptr @cons(i64 %twice, ptr %copied)
  ret ptr %new
}

define void @drop(ptr %list) {
entry:
  %thread = alloca [8 x ptr]
  call void @tl_inl_begin(ptr %thread)
  br label %loop
loop:
  %cell = phi ptr [ %list, %entry ], [ %next, %free ]
  %end = icmp eq ptr %cell, null
  br i1 %end, label %done, label %count
count:
  %last = call i1 @tl_inl_cell_drop(ptr %cell)
  br i1 %last, label %free, label %done
free:
  %at = getelementptr ptr, ptr %cell, i64 1
  %next = load ptr, ptr %at
  call void @tl_inl_retake(ptr %thread) ; a loop begins
  call i32 @tl_inl_cell_free(ptr %thread, ptr %cell)
  br label %loop
done:
  ret void
}

define i32 @main() {
  %one = call ptr @cons(i64 20, ptr null)
  %two = call ptr @cons(i64 10, ptr %one)
  %doubled = call ptr @double(ptr %two)
  %value = load i64, ptr %two
  %last = load i64, ptr %one
  call i32 (ptr, ...) @printf(ptr @text, i64 %value, i64 %last)
  call void @drop(ptr %doubled)
  ret i32 0
}
