# Drivers of the tests' own, which the library loads instead of the machine's.
foreach(driver IN ITEMS cuda opencl)
  add_library(fake${driver} MODULE "${PROJECT_SOURCE_DIR}/runtime/device/${driver}/testdata/fake${driver}.c")
  target_compile_options(fake${driver} PRIVATE -O1 -Wall -Wextra -Werror)
  target_link_libraries(fake${driver} PRIVATE Threads::Threads)
endforeach()

tl_test(devices ASAN)
tl_test(no_devices ASAN)
foreach(program IN ITEMS devices_test devices_asan)
  if(TARGET ${program})
    target_compile_definitions(${program} PRIVATE
      FAKE_CUDA="$<TARGET_FILE:fakecuda>" FAKE_OPENCL="$<TARGET_FILE:fakeopencl>")
    target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
    add_dependencies(${program} fakecuda fakeopencl)
  endif()
endforeach()
