# libtempi.so of one MPI: the sources that know MPI, compiled against its mpi.h; the stages are compiled once for all.
file(GLOB shim_sources CONFIGURE_DEPENDS src/mpi/*.cpp src/types/*.cpp src/machine/*.cpp src/peer/*.cpp
     src/sharing/*.cpp src/transport/*.cpp src/transfer/*.cpp src/request/*.cpp src/call/*.cpp src/transport/ipc/*.cpp src/stream/*.cpp src/collective/*.cpp src/window/*.cpp src/packing/*.cpp src/process/*.cpp src/measure/*.cpp src/face/*.cpp src/interpose/*.cpp)
set(TEMPI_SHIMS "")
# dlsym: in every build type a jump to the loader's own, never a call; a sanitizer's runtime calls it before it has begun.
set_source_files_properties(src/interpose/by_handle.cpp src/preload/by_handle.cpp src/preload/driver_frees.cpp
                            PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all" SKIP_PRECOMPILE_HEADERS ON)

include(proxy)

# The same shim with a transport of the tests, which they build (tests/transport/). A source archive has no tests.
set(test_transport ${CMAKE_CURRENT_SOURCE_DIR}/tests/transport/file_transport.cpp)
function(tempi_add_test_shim shim folder generated include_dirs definitions)
  if(NOT EXISTS ${test_transport})
    return()
  endif()
  set(target ${shim}_with_files)
  add_library(${target} SHARED EXCLUDE_FROM_ALL ${test_transport}
              $<FILTER:$<TARGET_OBJECTS:${shim}>,EXCLUDE,process/transport>)
  target_link_libraries(${target} PRIVATE tempi_stages ${CMAKE_DL_LIBS} pthread)
  target_include_directories(${target} PRIVATE ${generated})
  target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
  target_compile_definitions(${target} PRIVATE ${definitions} OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tempi LIBRARY_OUTPUT_DIRECTORY ${folder}/with_files)
  tempi_make_preloadable(${target} ${generated}/exports.map)
endfunction()

# tempi_add_shim(TARGET FOLDER INCLUDE_DIRS DEFINITIONS): FOLDER/libtempi.so for the MPI read last.
function(tempi_add_shim target folder include_dirs definitions)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated/${TEMPI_MPI_ABI})
  tempi_write_mpi_config(${generated})

  add_library(${target} SHARED ${shim_sources})
  target_link_libraries(${target} PRIVATE tempi_stages ${CMAKE_DL_LIBS} pthread)
  target_include_directories(${target} PRIVATE ${generated})
  target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
  # The C++ bindings that old headers bring along would make us depend on the MPI library.
  target_compile_definitions(${target} PRIVATE ${definitions} OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tempi LIBRARY_OUTPUT_DIRECTORY ${folder}
                                             TEMPI_MPI_ABI ${TEMPI_MPI_ABI})
  tempi_precompile(${target})
  tempi_make_preloadable(${target} ${generated}/exports.map)
  tempi_add_proxy(${target} ${folder})
  tempi_add_test_shim(${target} ${folder} ${generated} "${include_dirs}" "${definitions}")
  set(TEMPI_SHIMS ${TEMPI_SHIMS} ${target} PARENT_SCOPE)
endfunction()

if(TEMPI_MPI_INCLUDE_DIRS)
  foreach(include_dir IN LISTS TEMPI_MPI_INCLUDE_DIRS)
    tempi_read_mpi(${include_dir} "")
    tempi_add_shim(tempi_${TEMPI_MPI_ABI} ${CMAKE_CURRENT_BINARY_DIR}/${TEMPI_MPI_ABI} ${include_dir} "")
  endforeach()
else()
  if(DEFINED ENV{MPICC} AND NOT DEFINED MPI_C_COMPILER)
    set(MPI_C_COMPILER $ENV{MPICC} CACHE STRING "The mpicc of the MPI to build for")
  endif()
  find_package(MPI REQUIRED COMPONENTS C)
  tempi_read_mpi("${MPI_C_INCLUDE_DIRS}" "${MPI_C_COMPILE_DEFINITIONS}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR})
  if(SKBUILD)
    string(APPEND folder /${TEMPI_MPI_ABI})
  endif()
  tempi_add_shim(tempi ${folder} "${MPI_C_INCLUDE_DIRS}" "${MPI_C_COMPILE_DEFINITIONS}")
endif()
