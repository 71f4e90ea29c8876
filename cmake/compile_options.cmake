# Options shared by all our targets: C++20, hidden symbols, warnings, sanitizers, ccache.
set(minimum_GNU 11)
if(minimum_${CMAKE_CXX_COMPILER_ID} AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS minimum_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} is too old, "
                      "TEMPI needs ${minimum_${CMAKE_CXX_COMPILER_ID}} or newer")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# With ccache, another build folder takes the objects of this one: paths are relative to the sources, and precompiled
# headers are made anew, with the same contents (the manual of ccache, Precompiled headers).
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

add_library(tempi_compile_options INTERFACE)
target_compile_features(tempi_compile_options INTERFACE cxx_std_20)
target_include_directories(tempi_compile_options INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src
                                                           ${CMAKE_CURRENT_BINARY_DIR}/generated)
target_compile_options(tempi_compile_options INTERFACE -Wall -Wextra -Wshadow -Wpedantic)
if(TEMPI_WERROR)
  target_compile_options(tempi_compile_options INTERFACE -Werror)
endif()
if(TEMPI_SANITIZE)
  # Assertions in every build type.
  set(sanitize -fsanitize=${TEMPI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -UNDEBUG)
  target_compile_options(tempi_compile_options INTERFACE ${sanitize})
  target_link_options(tempi_compile_options INTERFACE ${sanitize})
endif()

# The standard headers that most sources read, parsed once a target. A build with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
# finds sources that do not include what they use.
function(tempi_precompile target)
  target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex> <optional>
      <string> <string_view> <unordered_map> <utility> <vector>)
endfunction()
