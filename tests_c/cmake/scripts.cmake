# Tests that are not one program: what the library exports, how it installs,
# how its cost grows. A script that misses a tool says so and returns 77.

foreach(tool IN ITEMS valgrind pkg-config nm readelf)
  find_program(TL_TOOL_${tool} ${tool})
  if(NOT TL_TOOL_${tool})
    message(STATUS "skip: ${tool} is not installed, the tests that need it are skipped")
  endif()
endforeach()

function(tl_script name)
  add_test(NAME ${name} COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/scripts/${name}.sh" ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TL_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

tl_script(symbols "${TL_RUNTIME_LIBRARY}" "${PROJECT_SOURCE_DIR}/include/tl_runtime.h")
tl_script(ldconfig "${PROJECT_SOURCE_DIR}")
tl_script(built_once "${PROJECT_SOURCE_DIR}")
tl_script(compilers "${PROJECT_SOURCE_DIR}")
tl_script(soname "${TL_RUNTIME_LIBRARY}" ${PROJECT_VERSION_MAJOR})
tl_script(full "${PROJECT_SOURCE_DIR}" "${TL_RUNTIME_FULL}" "${TL_RUNTIME_LIBRARY}")
tl_script(bitcode "${PROJECT_SOURCE_DIR}" "${TL_RUNTIME_LIBRARY}" "${CMAKE_C_COMPILER}")
tl_script(hoisting "${PROJECT_SOURCE_DIR}")
tl_script(static "${CMAKE_C_COMPILER}" "${PROJECT_SOURCE_DIR}" "${TL_RUNTIME_ARCHIVE}")
tl_script(debugger "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}" "${TL_RUNTIME_LIBRARY}")
tl_script(consume_cmake "${CMAKE_COMMAND}" "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
tl_script(subdirectory "${CMAKE_COMMAND}" "${PROJECT_SOURCE_DIR}" $<TARGET_FILE_DIR:tl_runtime::tl_runtime>)
tl_script(consume_pkgconfig "${CMAKE_COMMAND}" "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}"
  "${CMAKE_C_COMPILER}")

tl_program(probes "${CMAKE_CURRENT_SOURCE_DIR}/probes.c")
tl_script(probes "${TL_RUNTIME_LIBRARY}" $<TARGET_FILE:probes>)

tl_program(linear "${CMAKE_CURRENT_SOURCE_DIR}/linear.c")
tl_script(linear $<TARGET_FILE:linear>)

# A handful: a program takes about fifty times as long.
set(checked objects types tensors registry device_tensors)
list(TRANSFORM checked REPLACE "(.+)" "$<TARGET_FILE:\\1_test>" OUTPUT_VARIABLE checked_programs)
tl_script(memcheck "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/valgrind" ${checked_programs})
set_tests_properties(memcheck PROPERTIES TIMEOUT 1800)

# The C of the library under UndefinedBehaviorSanitizer, in programs whose sections C answers.
set(watched scopes objects references types vec shapes shapes_vec clone cycles tensors views registry registry_deleters)
list(TRANSFORM watched REPLACE "(.+)" "$<TARGET_FILE:\\1_test>" OUTPUT_VARIABLE watched_programs)
tl_script(undefined "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/undefined" ${watched_programs})
set_tests_properties(undefined PROPERTIES TIMEOUT 900)
tl_script(undefined_inlined "${PROJECT_SOURCE_DIR}" "${TL_RUNTIME_LIBRARY}")

# The operations of the benchmark, compiled as there, and the most instructions that each may take.
find_package(Python3 3.10 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  tl_program(calls "${PROJECT_SOURCE_DIR}/bench/src/calls.c"
    "${PROJECT_SOURCE_DIR}/bench/src/calls_inlined.c" "${PROJECT_SOURCE_DIR}/bench/src/calls_shapes.c"
    "${PROJECT_SOURCE_DIR}/bench/src/calls_tensors.c" "${PROJECT_SOURCE_DIR}/bench/src/calls_varying.c")
  target_compile_options(calls PRIVATE -O2)
  add_test(NAME instructions COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/bench/instructions.py"
    $<TARGET_FILE:calls> $<TARGET_FILE_DIR:tl_runtime::tl_runtime>)
  # 2 minutes on an idle core: instructions are counted, so a busy machine may take its time.
  set_tests_properties(instructions PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
else()
  message(STATUS "skip: Python is not installed, instructions are not counted")
endif()
