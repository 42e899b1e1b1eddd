# Target tl_runtime::tl_runtime, built by packaging/build_library.sh.
#
# TL_RUNTIME_LIBRARY_DIR: where the library is put. `make` points it at build/
# so that both build systems share one file.

find_program(GO_EXECUTABLE go REQUIRED)
set(TL_RUNTIME_LIBRARY_DIR "${PROJECT_BINARY_DIR}/lib" CACHE PATH "directory of libtl_runtime.so")
set(TL_RUNTIME_LIBRARY
  "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime.so.${PROJECT_VERSION}")

file(GLOB_RECURSE tl_sources CONFIGURE_DEPENDS
  capi/*.go cshim/*.go cshim/*.c cshim/*.h cshim/*.s runtime/*.go runtime/*.s)
list(FILTER tl_sources EXCLUDE REGEX "_test\\.go$")

add_custom_command(
  OUTPUT "${TL_RUNTIME_LIBRARY}"
  COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}"
          "${PROJECT_SOURCE_DIR}/packaging/build_library.sh" "${TL_RUNTIME_LIBRARY_DIR}"
  DEPENDS ${tl_sources} capi/exports.map go.mod
          packaging/build_library.sh packaging/VERSION
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "go build libtl_runtime.so.${PROJECT_VERSION}"
  VERBATIM)
add_custom_target(tl_runtime_build ALL DEPENDS "${TL_RUNTIME_LIBRARY}")

add_library(tl_runtime_imported SHARED IMPORTED GLOBAL)
set_target_properties(tl_runtime_imported PROPERTIES
  IMPORTED_LOCATION "${TL_RUNTIME_LIBRARY}"
  IMPORTED_SONAME "libtl_runtime.so.${PROJECT_VERSION_MAJOR}"
  INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
add_dependencies(tl_runtime_imported tl_runtime_build)
add_library(tl_runtime::tl_runtime ALIAS tl_runtime_imported)

# The inlined operations as LLVM bitcode.
set(TL_RUNTIME_BITCODE "${TL_RUNTIME_LIBRARY_DIR}/tl_runtime.bc")
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/packaging/build_bitcode.sh" "${TL_RUNTIME_BITCODE}"
  OUTPUT_VARIABLE tl_said OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE tl_no_clang)
message(STATUS "${tl_said}")
if(NOT tl_no_clang)
  add_custom_command(
    OUTPUT "${TL_RUNTIME_BITCODE}"
    COMMAND "${PROJECT_SOURCE_DIR}/packaging/build_bitcode.sh" "${TL_RUNTIME_BITCODE}"
    DEPENDS include/tl_inline.ll packaging/build_bitcode.sh
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "tl_runtime.bc"
    VERBATIM)
  add_custom_target(tl_runtime_bitcode ALL DEPENDS "${TL_RUNTIME_BITCODE}")
endif()

# The program tl. go build itself sees whether it is fresh.
set(TL_RUNTIME_TOOL "${TL_RUNTIME_LIBRARY_DIR}/tl")
add_custom_target(tl_runtime_tool ALL
  COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}"
          "${PROJECT_SOURCE_DIR}/packaging/build_library.sh" --tool "${TL_RUNTIME_LIBRARY_DIR}"
  BYPRODUCTS "${TL_RUNTIME_TOOL}"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "go build tl"
  VERBATIM)

# tl_library_of(KIND NAME FILE FLAGS SOURCES EXPORTS): the target tl_runtime::NAME, a library of KIND in FILE, which is built
# when a target wants it: `cmake --build . --target NAME`.
function(tl_library_of kind name file flags sources exports)
  separate_arguments(flags)
  add_custom_command(
    OUTPUT "${file}"
    COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}" "OBJCOPY=${CMAKE_OBJCOPY}" "LD=${CMAKE_LINKER}"
            "${PROJECT_SOURCE_DIR}/packaging/build_library.sh" ${flags} "${TL_RUNTIME_LIBRARY_DIR}"
    DEPENDS ${sources} ${exports} go.mod packaging/build_library.sh packaging/VERSION
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "go build ${name}"
    VERBATIM)
  add_custom_target(${name} DEPENDS "${file}")
  add_library(${name}_imported ${kind} IMPORTED GLOBAL)
  set_target_properties(${name}_imported PROPERTIES
    IMPORTED_LOCATION "${file}"
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
  if(kind STREQUAL STATIC)
    set_target_properties(${name}_imported PROPERTIES INTERFACE_LINK_LIBRARIES "pthread;dl")
  else()
    set_target_properties(${name}_imported PROPERTIES IMPORTED_SONAME "lib${name}.so.${PROJECT_VERSION_MAJOR}")
  endif()
  add_dependencies(${name}_imported ${name})
  add_library(tl_runtime::${name} ALIAS ${name}_imported)
endfunction()

# The library to link into a program, and the one that has graphs as well, of which a program links one instead.
set(TL_RUNTIME_ARCHIVE "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime.a")
set(TL_RUNTIME_FULL "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime_full.so.${PROJECT_VERSION}")
set(TL_RUNTIME_FULL_ARCHIVE "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime_full.a")
file(GLOB_RECURSE tl_compiler_sources CONFIGURE_DEPENDS compiler/*.go)
list(FILTER tl_compiler_sources EXCLUDE REGEX "_test\\.go$")
set(tl_full_sources ${tl_sources} ${tl_compiler_sources})
tl_library_of(STATIC tl_runtime_static "${TL_RUNTIME_ARCHIVE}" "--static" "${tl_sources}" capi/exports.map)
tl_library_of(SHARED tl_runtime_full "${TL_RUNTIME_FULL}" "--full" "${tl_full_sources}" capi/exports_full.map)
tl_library_of(STATIC tl_runtime_full_static "${TL_RUNTIME_FULL_ARCHIVE}" "--full --static" "${tl_full_sources}"
  capi/exports_full.map)
