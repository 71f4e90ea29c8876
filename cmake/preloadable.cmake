# What makes libtempi.so safe to preload: exactly the symbols of exports.map, and a C++ runtime of its own, hidden, so
# that the program's libstdc++ is the only one that others see.
set_target_properties(tempi PROPERTIES LINK_DEPENDS ${TEMPI_EXPORTS_MAP} INSTALL_RPATH "" SKIP_BUILD_RPATH ON)
target_link_options(tempi PRIVATE -Wl,--version-script=${TEMPI_EXPORTS_MAP} -Wl,--exclude-libs,ALL -Wl,--as-needed)
if(NOT TEMPI_SANITIZE)
  # A sanitizer's runtime is found in the process, hence undefined here.
  target_link_options(tempi PRIVATE -static-libstdc++ -static-libgcc -Wl,--no-undefined)
endif()
