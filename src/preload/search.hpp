// The loader's search for libraries (ld.so(8)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preload/dynamic.hpp"

namespace tempi::preload {

using Folders = std::vector<std::string>;

struct Found {
  std::string path;
  Dynamic dynamic;
};

// A path, or a name that is looked for in the run path, in LD_LIBRARY_PATH, in /etc/ld.so.cache and in the system's
// folders. Nothing: it is in none of them. Left out: folders for kinds of CPU (glibc-hwcaps, $PLATFORM).
std::optional<Found> find_library(const std::string& file, const Folders& run_path);

// The run path of the program or library that an address lies in.
Folders run_path_at(const void* address);

bool is_loaded(const std::string& library);

}  // namespace tempi::preload
