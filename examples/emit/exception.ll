; func risky(n) { b = box(n);  { c = box(n);  throw c.n } }
; func keeping(n) { v = box(n);  risky(n) }                v owns a reference
; func demo_exception() { try { keeping(42) } catch n { return n } }
declare ptr @box(i64)
declare ptr @__cxa_allocate_exception(i64)
declare void @__cxa_throw(ptr, ptr, ptr)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @__gxx_personality_v0(...)
@_ZTIl = external constant ptr              ; the type `long` of C++

define void @risky(i64 %n) {                ; no landing pad, though it has a frame, a scope and two objects
  call i32 @tl_mem_function_enter(i64 0)
  %b = call ptr @box(i64 %n)
  call i32 @tl_mem_register_struct(ptr %b)
  call i32 @tl_mem_enter_scope()
  %c = call ptr @box(i64 %n)
  call i32 @tl_mem_register_struct(ptr %c)
  %value = load i64, ptr %c
  %thrown = call ptr @__cxa_allocate_exception(i64 8)
  store i64 %value, ptr %thrown
  call void @__cxa_throw(ptr %thrown, ptr @_ZTIl, ptr null)
  unreachable
}

define void @keeping(i64 %n) personality ptr @__gxx_personality_v0 {
  call i32 @tl_mem_function_enter(i64 0)
  %v = call ptr @box(i64 %n)
  call i32 @tl_mem_register_struct(ptr %v)
  call ptr @tl_ptr_acquire(ptr %v)          ; the variable's reference, which no scope knows
  invoke void @risky(i64 %n) to label %done unwind label %cleanup
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call i32 @tl_ptr_release(ptr %v)
  resume { ptr, i32 } %pad                  ; scopes and frames are left to who catches
done:
  call i32 @tl_ptr_release(ptr %v)
  call i32 @tl_mem_function_exit()
  ret void
}

define i64 @demo_exception() personality ptr @__gxx_personality_v0 {
  call i32 @tl_mem_function_enter(i64 0)
  %depth = call i64 @tl_get_scope_depth()   ; where the try begins
  invoke void @keeping(i64 42) to label %done unwind label %caught
done:
  call i32 @tl_mem_function_exit()
  ret i64 0
caught:
  %pad = landingpad { ptr, i32 } catch ptr null
  call i32 @tl_mem_exit_scopes_to(i64 %depth) ; every scope and frame that the throw has left open
  %object = extractvalue { ptr, i32 } %pad, 0
  %thrown = call ptr @__cxa_begin_catch(ptr %object)
  %n = load i64, ptr %thrown
  call void @__cxa_end_catch()
  call i32 @tl_mem_function_exit()
  ret i64 %n
}
