# tl_test(NAME [ASAN] [SERIAL] [TIMEOUT seconds] [ARGS ...])
#
# Builds NAME_test.c or NAME_test.cpp and registers it for both paths, as
# NAME.fast and NAME.slow; with ASAN also NAME.asan, the program built with
# AddressSanitizer over the ordinary library.

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 17)
set(TL_RANDOM_POINTERS 1000000 CACHE STRING "random pointers fed to every function")
set(TL_TEST_TIMEOUT 1200 CACHE STRING "seconds a test program may take: it ends what hangs, on a busy machine too")
find_package(Threads REQUIRED)

# A program that starts is needed: some systems compile it and cannot run it.
set(tl_asan_flags -fsanitize=address -fno-omit-frame-pointer)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/asan_probe.c" "int main(void) { return 0; }\n")
try_run(tl_asan_rc tl_asan_compiles "${CMAKE_CURRENT_BINARY_DIR}/probe"
  "${CMAKE_CURRENT_BINARY_DIR}/asan_probe.c"
  COMPILE_DEFINITIONS ${tl_asan_flags} LINK_OPTIONS ${tl_asan_flags})
if(tl_asan_compiles AND tl_asan_rc EQUAL 0)
  set(TL_HAVE_ASAN ON)
else()
  message(STATUS "skip: programs built with AddressSanitizer do not run here")
endif()

# Programs of tests that `make test` leaves to `make test-rest` and that take long to compile; REST_C of the Makefile names
# the tests.
add_custom_target(rest_programs)
function(tl_rest target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(rest_programs ${target})
endfunction()

# What programs are linked to.
set(tl_program_library tl_runtime::tl_runtime)

function(tl_program target source)
  add_executable(${target} ${source} ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests_c")
  target_compile_options(${target} PRIVATE -O1 -Wall -Wextra -Wpedantic -Werror)
  target_link_libraries(${target} PRIVATE ${tl_program_library} Threads::Threads)
  if(source MATCHES "\\.c$")
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  endif()
endfunction()

function(tl_register test target path)
  cmake_parse_arguments(PARSE_ARGV 3 T "SERIAL" "TIMEOUT" "ARGS")
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT ${TL_TEST_TIMEOUT})
  endif()
  add_test(NAME ${test} COMMAND ${target} ${T_ARGS})
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "TL_FASTPATH=${path}" TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77)
  if(T_SERIAL)
    set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

function(tl_test path)
  cmake_parse_arguments(PARSE_ARGV 1 T "ASAN;SERIAL" "TIMEOUT" "ARGS")
  get_filename_component(name ${path} NAME)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${path}_test.c")
  if(NOT EXISTS "${source}")
    set(source "${source}pp")
  endif()
  set(options "")
  if(T_SERIAL)
    list(APPEND options SERIAL)
  endif()
  tl_program(${name}_test "${source}")
  tl_register(${name}.fast ${name}_test 1 ${options} TIMEOUT ${T_TIMEOUT} ARGS ${T_ARGS})
  tl_register(${name}.slow ${name}_test 0 ${options} TIMEOUT ${T_TIMEOUT} ARGS ${T_ARGS})
  if(T_ASAN AND TL_HAVE_ASAN)
    tl_program(${name}_asan "${source}")
    target_compile_options(${name}_asan PRIVATE ${tl_asan_flags})
    target_link_options(${name}_asan PRIVATE ${tl_asan_flags})
    tl_register(${name}.asan ${name}_asan 1 ${options} ARGS ${T_ARGS})
    if(name MATCHES "hpp$|^no_exceptions$|^registry_places$")
      tl_rest(${name}_asan)
    endif()
  endif()
endfunction()

# tl_inlined(NAME [DEBUG]): the program NAME_test with TL_INLINE, as NAME.inline, NAME.inline_slow and, if it passes with
# TL_DEBUG=1 without, as NAME.inline_debug.
function(tl_inlined path)
  get_filename_component(name "${path}" NAME)
  file(GLOB source "${CMAKE_CURRENT_SOURCE_DIR}/${path}_test.c*")
  tl_program(${name}_inline "${source}")
  target_compile_definitions(${name}_inline PRIVATE TL_INLINE)
  target_compile_options(${name}_inline PRIVATE -O2)
  tl_register(${name}.inline ${name}_inline 1)
  tl_register(${name}.inline_slow ${name}_inline 0)
  if("DEBUG" IN_LIST ARGN)
    tl_register(${name}.inline_debug ${name}_inline 1)
    set_property(TEST ${name}.inline_debug APPEND PROPERTY ENVIRONMENT "TL_DEBUG=1")
  endif()
endfunction()
