# cmake --install: library, headers, LLVM declarations, and the files by which
# CMake and pkg-config find them, the program tl, licences. Everything is relocatable.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tl_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tl_runtime")
set(tl_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH TL_PC_PREFIX "/${tl_pc_dir}" "/")
string(REGEX REPLACE "/$" "" TL_PC_PREFIX "${TL_PC_PREFIX}")

configure_package_config_file(packaging/tl_runtimeConfig.cmake.in tl_runtimeConfig.cmake
  INSTALL_DESTINATION "${tl_config_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(tl_runtimeConfigVersion.cmake COMPATIBILITY SameMajorVersion)
set(TL_PC_LIBRARY tl_runtime)
configure_file(packaging/tl_runtime.pc.in tl_runtime.pc @ONLY)
set(TL_PC_LIBRARY tl_runtime_full)
configure_file(packaging/tl_runtime.pc.in tl_runtime_full.pc @ONLY)

install(PROGRAMS "${TL_RUNTIME_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES
  "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime.so.${PROJECT_VERSION_MAJOR}"
  "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime.so"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(PROGRAMS "${TL_RUNTIME_TOOL}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES LICENSE python/LICENSES-THIRD-PARTY.txt DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tl_runtime")
# What `make static`, `make debug`, `make full` and `make full-static` have built, where they have.
install(FILES "${TL_RUNTIME_ARCHIVE}" "${TL_RUNTIME_LIBRARY}.debug" "${TL_RUNTIME_FULL_ARCHIVE}"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
install(FILES "${TL_RUNTIME_FULL}" "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime_full.so.${PROJECT_VERSION_MAJOR}"
  "${TL_RUNTIME_LIBRARY_DIR}/libtl_runtime_full.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
install(FILES packaging/tl_tensor.syms tools/gdb/tl_runtime.py DESTINATION "${CMAKE_INSTALL_DATADIR}/tl_runtime")
file(GLOB tl_headers CONFIGURE_DEPENDS include/*.h include/*.hpp)
install(FILES ${tl_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# There is none where no clang of version 15 or newer was found.
install(FILES "${TL_RUNTIME_LIBRARY_DIR}/tl_runtime.bc" DESTINATION "${CMAKE_INSTALL_DATADIR}/tl_runtime" OPTIONAL)
install(FILES include/tl_runtime.ll include/tl_inline.ll DESTINATION "${CMAKE_INSTALL_DATADIR}/tl_runtime")
install(FILES "${PROJECT_BINARY_DIR}/tl_runtimeConfig.cmake"
  "${PROJECT_BINARY_DIR}/tl_runtimeConfigVersion.cmake" DESTINATION "${tl_config_dir}")
install(FILES "${PROJECT_BINARY_DIR}/tl_runtime.pc" DESTINATION "${tl_pc_dir}")
# pkg-config finds the full library where there is one.
install(CODE "
  if(EXISTS \"${TL_RUNTIME_FULL}\" OR EXISTS \"${TL_RUNTIME_FULL_ARCHIVE}\")
    file(INSTALL \"${PROJECT_BINARY_DIR}/tl_runtime_full.pc\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${tl_pc_dir}\")
  endif()")

# The list of what lies there, relative to the prefix, for packaging/uninstall.sh. It comes last.
install(CODE [[
  set(tl_list "share/tl_runtime/installed.txt")
  set(tl_text "")
  foreach(tl_file IN LISTS CMAKE_INSTALL_MANIFEST_FILES)
    file(RELATIVE_PATH tl_file "${CMAKE_INSTALL_PREFIX}" "${tl_file}")
    string(APPEND tl_text "${tl_file}\n")
  endforeach()
  file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${tl_list}" "${tl_text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_PREFIX}/${tl_list}")
]])
