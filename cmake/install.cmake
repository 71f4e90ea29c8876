# Into the wheel: tempi/lib/libtempi.so for any MPI, tempi/lib/ABI/libtempi.so and libtempi_mpi.so for each, tempi/_native,
# the profiles, and the documents that options and messages name. Otherwise, for mpicc's MPI: library, C header and CMake
# package.
set(headers include/tempi.h include/tempi_device.h include/tempi_mpix.h include/tempi.f90)
if(SKBUILD)
  foreach(shim IN LISTS TEMPI_SHIMS)
    get_target_property(abi ${shim} TEMPI_MPI_ABI)
    install(TARGETS ${shim} ${shim}_proxy LIBRARY DESTINATION tempi/lib/${abi})
  endforeach()
  install(TARGETS tempi_chooser LIBRARY DESTINATION tempi/lib)
  install(TARGETS _native LIBRARY DESTINATION tempi)
  install(FILES ${headers} DESTINATION tempi/include)
  install(DIRECTORY perfmodel/machines DESTINATION tempi/perfmodel)
  install(DIRECTORY docs DESTINATION tempi FILES_MATCHING PATTERN "*.md" PATTERN figures EXCLUDE)
endif()
if(SKBUILD OR NOT TARGET tempi)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tempi)
# A program that is linked to the shim calls MPI through it: a linker would leave out the MPI library itself.
target_link_options(tempi INTERFACE LINKER:--no-as-needed)
target_include_directories(tempi INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS tempi EXPORT tempi_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tempi_proxy LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY perfmodel/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/tempi)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN figures EXCLUDE)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES src/face/api.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tempi)
install(EXPORT tempi_targets NAMESPACE tempi:: FILE tempi-targets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/tempi-config.cmake.in tempi-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(tempi-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tempi-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tempi-config-version.cmake
        DESTINATION ${package_dir})
