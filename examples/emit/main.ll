; The driver: calls each construct, prints what it returns, and ends with status 1 when an object or a scope is left.
declare i32 @printf(ptr, ...)

declare i64 @demo_return()
declare i64 @demo_call()
declare i64 @demo_parameter()
declare i64 @demo_loop()
declare i64 @demo_owned()
declare i64 @demo_break()
declare i64 @demo_early()
declare i64 @demo_field()
declare i64 @demo_closure()
declare i64 @demo_vec()
declare i64 @demo_tensor()
declare i64 @demo_exception()
declare i64 @demo_thread()

@text = private constant [12 x i8] c"%-10s %4ld\0A\00"
@left = private constant [35 x i8] c"%ld live objects, %ld open scopes\0A\00"
@name.return = private constant [7 x i8] c"return\00"
@name.call = private constant [5 x i8] c"call\00"
@name.parameter = private constant [10 x i8] c"parameter\00"
@name.loop = private constant [5 x i8] c"loop\00"
@name.owned = private constant [6 x i8] c"owned\00"
@name.break = private constant [6 x i8] c"break\00"
@name.early = private constant [6 x i8] c"early\00"
@name.field = private constant [6 x i8] c"field\00"
@name.closure = private constant [8 x i8] c"closure\00"
@name.vec = private constant [4 x i8] c"vec\00"
@name.tensor = private constant [7 x i8] c"tensor\00"
@name.exception = private constant [10 x i8] c"exception\00"
@name.thread = private constant [7 x i8] c"thread\00"

define internal void @show(ptr %name, ptr %construct) {
  %n = call i64 %construct()
  call i32 (ptr, ...) @printf(ptr @text, ptr %name, i64 %n)
  ret void
}

define i32 @main() {
  call void @show(ptr @name.return, ptr @demo_return)
  call void @show(ptr @name.call, ptr @demo_call)
  call void @show(ptr @name.parameter, ptr @demo_parameter)
  call void @show(ptr @name.loop, ptr @demo_loop)
  call void @show(ptr @name.owned, ptr @demo_owned)
  call void @show(ptr @name.break, ptr @demo_break)
  call void @show(ptr @name.early, ptr @demo_early)
  call void @show(ptr @name.field, ptr @demo_field)
  call void @show(ptr @name.closure, ptr @demo_closure)
  call void @show(ptr @name.vec, ptr @demo_vec)
  call void @show(ptr @name.tensor, ptr @demo_tensor)
  call void @show(ptr @name.exception, ptr @demo_exception)
  call void @show(ptr @name.thread, ptr @demo_thread)
  %live = call i64 @tl_get_refcount_count()
  %open = call i64 @tl_get_scope_depth()
  call i32 (ptr, ...) @printf(ptr @left, i64 %live, i64 %open)
  %both = or i64 %live, %open
  %leaked = icmp ne i64 %both, 0
  %status = zext i1 %leaked to i32
  ret i32 %status
}
