# The version is written once, in pyproject.toml.
if(DEFINED SKBUILD_PROJECT_VERSION)
  set(TEMPI_VERSION ${SKBUILD_PROJECT_VERSION})
else()
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml version_line REGEX "^version = ")
  string(REGEX REPLACE "^version = \"([0-9.]+)\".*" "\\1" TEMPI_VERSION "${version_line}")
endif()
