# tl_mpi.h under mpiexec: as NAME.N.fast with so many processes, with two of them also as NAME.2.slow. find_package takes
# the MPI that mpicc means; another one that is installed is tried by a script.
find_package(MPI COMPONENTS C)

function(tl_mpi_register test target path processes)
  add_test(NAME ${test} COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/scripts/mpiexec.sh"
    "${MPIEXEC_EXECUTABLE}" ${processes} $<TARGET_FILE:${target}>)
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "TL_FASTPATH=${path};TL_LEAK_CHECK=fail" TIMEOUT ${TL_TEST_TIMEOUT} PROCESSORS 2)
endfunction()

function(tl_mpi_test name source)
  tl_program(${name}_test "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  target_link_libraries(${name}_test PRIVATE MPI::MPI_C m)
  target_compile_definitions(${name}_test PRIVATE ${ARGN})
  foreach(processes IN ITEMS 1 2 4)
    tl_mpi_register(${name}.${processes}.fast ${name}_test 1 ${processes})
  endforeach()
  tl_mpi_register(${name}.2.slow ${name}_test 0 2)
endfunction()

if(MPI_C_FOUND)
  tl_mpi_test(mpi mpi_test.c)
  tl_mpi_test(mpi_counts mpi_test.c TL_MPI_COUNT_MAX=7) # as if seven were all that MPI can count
  tl_mpi_test(mpi_memory mpi_memory_test.c)
  tl_mpi_test(mpi_hpp cpp/mpi_hpp_test.cpp)
  tl_script(mpi_others "${CMAKE_C_COMPILER}" "${PROJECT_SOURCE_DIR}" $<TARGET_FILE_DIR:tl_runtime::tl_runtime>
    "${MPIEXEC_EXECUTABLE}")
  set(example "${PROJECT_SOURCE_DIR}/examples")
  tl_program(mpi_digits "${example}/mpi/digits_mpi.c" "${example}/digits/kernels.c" "${example}/digits/data.c")
  target_compile_options(mpi_digits PRIVATE -O3)
  target_link_libraries(mpi_digits PRIVATE MPI::MPI_C m)
  tl_script(mpi_digits "${MPIEXEC_EXECUTABLE}" $<TARGET_FILE:mpi_digits> "${example}/data/digits.csv.gz")
  set_tests_properties(mpi_digits PROPERTIES PROCESSORS 2)
else()
  message(STATUS "skip: MPI is not installed, tl_mpi.h is not tested")
endif()
