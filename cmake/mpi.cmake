# The MPIs to build for: one for each mpi.h that TEMPI_MPI_INCLUDE_DIRS lists, else the one that mpicc names. Only the
# header is used: the library is found in the running process.
set(TEMPI_MPI_INCLUDE_DIRS "" CACHE STRING "Folders with an mpi.h, one for each MPI to build for (empty: mpicc's MPI)")

set(TEMPI_MPI_MINIMUM 3.1) # of the standard

# Facts from mpi.h. Sets in the caller: TEMPI_MPI_ABI (openmpi, mpich, mpiabi: the MPI-5 standard's),
# TEMPI_MPI_ABI_OPENMPI and so on, TEMPI_MPI_VERSION_TEXT and TEMPI_MPI_DECLARATIONS, the preprocessed header and that of
# extensions.
macro(tempi_read_mpi mpi_include_dirs mpi_definitions)
  set(include_dirs ${mpi_include_dirs}) # list() wants variables, which a macro's arguments are not
  set(definitions ${mpi_definitions})
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/generated/mpi_probe.c)
  file(WRITE ${probe} "#include <mpi.h>
#if defined(__has_include)
#if __has_include(<mpi-ext.h>) // of Open MPI
#include <mpi-ext.h>
#endif
#endif
#if defined(OPEN_MPI)
tempi_mpi openmpi OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION) && !defined(MPI_ABI)
tempi_mpi mpich MPICH_VERSION
#elif defined(MPI_ABI_VERSION)
tempi_mpi mpiabi MPI_ABI_VERSION MPI_ABI_SUBVERSION
#else
tempi_mpi unknown
#endif
tempi_standard MPI_VERSION MPI_SUBVERSION
")
  list(TRANSFORM include_dirs PREPEND -I OUTPUT_VARIABLE include_flags)
  list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE define_flags)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -E -P ${include_flags} ${define_flags} ${probe}
                  OUTPUT_VARIABLE TEMPI_MPI_DECLARATIONS COMMAND_ERROR_IS_FATAL ANY)

  string(REGEX MATCH "tempi_mpi ([a-z]+) *([^\n]*)" _ "${TEMPI_MPI_DECLARATIONS}")
  set(TEMPI_MPI_ABI ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "[0-9][0-9a-z]*" version "${CMAKE_MATCH_2}")
  list(JOIN version "." version)
  set(name_openmpi "Open MPI")
  set(name_mpich "MPICH")
  set(name_mpiabi "MPI standard ABI")
  set(TEMPI_MPI_VERSION_TEXT "${name_${TEMPI_MPI_ABI}} ${version}")
  if(TEMPI_MPI_ABI STREQUAL "unknown")
    message(FATAL_ERROR "${include_dirs}: an mpi.h of neither Open MPI, MPICH nor the MPI-5 standard ABI")
  endif()
  string(REGEX MATCH "tempi_standard ([0-9]+) ([0-9]+)" _ "${TEMPI_MPI_DECLARATIONS}")
  if("${CMAKE_MATCH_1}.${CMAKE_MATCH_2}" VERSION_LESS TEMPI_MPI_MINIMUM)
    message(FATAL_ERROR "${TEMPI_MPI_VERSION_TEXT} has MPI ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}, "
                        "TEMPI needs MPI ${TEMPI_MPI_MINIMUM} or newer")
  endif()
  foreach(abi openmpi mpich mpiabi)
    string(TOUPPER ${abi} upper)
    string(COMPARE EQUAL ${TEMPI_MPI_ABI} ${abi} TEMPI_MPI_ABI_${upper})
  endforeach()
  message(STATUS "tempi: a shim for ${TEMPI_MPI_VERSION_TEXT} (ABI: ${TEMPI_MPI_ABI}), ${include_dirs}")
endmacro()
