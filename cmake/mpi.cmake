# The MPI that mpicc names. Only its headers are used: the library is found in the running process.
#
# Sets TEMPI_MPI_ABI (openmpi, mpich, standard), TEMPI_MPI_VERSION_TEXT and TEMPI_MPI_DECLARATIONS, the preprocessed
# mpi.h, in which config_header.cmake looks for the functions that this MPI has.
if(DEFINED ENV{MPICC} AND NOT DEFINED MPI_C_COMPILER)
  set(MPI_C_COMPILER $ENV{MPICC} CACHE STRING "The mpicc of the MPI to build for")
endif()
find_package(MPI REQUIRED COMPONENTS C)

add_library(tempi_mpi_headers INTERFACE)
target_include_directories(tempi_mpi_headers SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
# The C++ bindings that old headers bring along would make us depend on the MPI library.
target_compile_definitions(tempi_mpi_headers INTERFACE ${MPI_C_COMPILE_DEFINITIONS} OMPI_SKIP_MPICXX=1
                                                       MPICH_SKIP_MPICXX=1)

set(probe ${CMAKE_CURRENT_BINARY_DIR}/generated/mpi_probe.c)
file(WRITE ${probe} "#include <mpi.h>
#if defined(OPEN_MPI)
tempi_mpi openmpi OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION) && !defined(MPI_ABI)
tempi_mpi mpich MPICH_VERSION
#elif defined(MPI_ABI_VERSION)
tempi_mpi standard MPI_ABI_VERSION MPI_ABI_SUBVERSION
#else
tempi_mpi unknown
#endif
")
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE include_flags)
list(TRANSFORM MPI_C_COMPILE_DEFINITIONS PREPEND -D OUTPUT_VARIABLE define_flags)
execute_process(COMMAND ${CMAKE_C_COMPILER} -E -P ${include_flags} ${define_flags} ${probe}
                OUTPUT_VARIABLE TEMPI_MPI_DECLARATIONS COMMAND_ERROR_IS_FATAL ANY)

string(REGEX MATCH "tempi_mpi ([a-z]+) *([^\n]*)" _ "${TEMPI_MPI_DECLARATIONS}")
set(TEMPI_MPI_ABI ${CMAKE_MATCH_1})
string(REGEX MATCHALL "[0-9][0-9a-z]*" version "${CMAKE_MATCH_2}")
list(JOIN version "." version)
set(name_openmpi "Open MPI")
set(name_mpich "MPICH")
set(name_standard "MPI standard ABI")
set(TEMPI_MPI_VERSION_TEXT "${name_${TEMPI_MPI_ABI}} ${version}")
if(TEMPI_MPI_ABI STREQUAL "unknown")
  message(FATAL_ERROR "${MPI_C_COMPILER}: neither Open MPI, MPICH nor the MPI-5 standard ABI")
endif()
foreach(abi openmpi mpich standard)
  string(TOUPPER ${abi} upper)
  string(COMPARE EQUAL ${TEMPI_MPI_ABI} ${abi} TEMPI_MPI_ABI_${upper})
endforeach()
message(STATUS "tempi: built for ${TEMPI_MPI_VERSION_TEXT} (ABI: ${TEMPI_MPI_ABI}), ${MPI_C_COMPILER}")
