# libtempi.so for any MPI, beside the folders of the shims: it loads the one of the program's MPI library.
if(SKBUILD OR TEMPI_MPI_INCLUDE_DIRS)
  add_library(tempi_chooser SHARED src/preload/chooser.cpp)
  target_link_libraries(tempi_chooser PRIVATE tempi_stages ${CMAKE_DL_LIBS})
  # In every build type a jump to the loader's own dlopen and dlsym, never a call.
  target_compile_options(tempi_chooser PRIVATE -O2)
  # Without a name of its own: programs that are linked to the shim need libtempi.so, which this is not.
  set_target_properties(tempi_chooser PROPERTIES OUTPUT_NAME tempi NO_SONAME ON
                                                 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  tempi_make_preloadable(tempi_chooser ${CMAKE_CURRENT_SOURCE_DIR}/cmake/chooser.map)
  if(NOT TEMPI_SANITIZE)
    # It is loaded into every process, and no exception of a program passes through it.
    target_link_options(tempi_chooser PRIVATE -static-libgcc)
  endif()
endif()
