# libtempi_mpi.so of one MPI, a library without code: it needs the shim, then the MPI library. Programs that look MPI
# functions up in the handle of a library name it in the place of the MPI library.
function(tempi_add_proxy shim folder)
  set(name_openmpi libmpi.so.40)
  set(name_mpich libmpi.so.12)
  set(name_mpiabi libmpi_abi.so.1)
  set(name ${name_${TEMPI_MPI_ABI}})
  foreach(library IN LISTS MPI_C_LIBRARIES) # of mpicc's MPI: Debian's MPICH is libmpich.so.12
    file(REAL_PATH ${library} file)
    if(file MATCHES "/(libmpi[a-z_]*\\.so\\.[0-9]+)[^/]*$")
      set(name ${CMAKE_MATCH_1})
    endif()
  endforeach()

  set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/proxy.c)
  file(CONFIGURE OUTPUT ${source} CONTENT "extern int tempi_proxy;\n")
  # Stands in for the MPI library, which the build need not have.
  add_library(${shim}_needed SHARED ${source})
  set_target_properties(${shim}_needed PROPERTIES NO_SONAME ON LINK_OPTIONS "LINKER:-soname,${name}"
                                                  LIBRARY_OUTPUT_DIRECTORY ${folder}/needed)
  add_library(${shim}_proxy SHARED ${source})
  target_link_options(${shim}_proxy PRIVATE LINKER:--no-as-needed)
  target_link_libraries(${shim}_proxy PRIVATE ${shim} ${shim}_needed)
  # Beside the shim; in a virtual environment the MPI library is five folders above (lib/python3/site-packages/tempi/lib).
  set_target_properties(${shim}_proxy PROPERTIES OUTPUT_NAME tempi_mpi LIBRARY_OUTPUT_DIRECTORY ${folder}
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/../../../../..")
endfunction()
