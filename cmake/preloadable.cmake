# Settings that make libtempi.so safe to preload: exactly the symbols of exports.map, and a C++ runtime of its own,
# hidden, so that the program's libstdc++ is the only one that others see. The unwinder, libgcc_s, is the process's:
# exceptions of the program pass through the shim.
function(tempi_make_preloadable target exports_map)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports_map} INSTALL_RPATH "" SKIP_BUILD_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--version-script=${exports_map} -Wl,--exclude-libs,ALL -Wl,--as-needed)
  if(NOT TEMPI_SANITIZE)
    # A sanitizer's runtime is found in the process, hence undefined here. Unused parts of the C++ runtime are left out:
    # they need functions of a newer C library.
    target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--no-undefined -Wl,--gc-sections)
  endif()
endfunction()
