// The MPI library that a program or library needs.
#pragma once

#include <string>
#include <string_view>

#include "preload/search.hpp"

namespace tempi::preload {

struct NeededMpi {
  std::string_view abi{};  // empty: none
  bool is_there = false;   // its library is loaded, or can be found
};

// The MPI library that is loaded together with a file: the file needs it, or needs a library that needs it and is not
// loaded yet. `run_path`: of the program or library that loads the file.
NeededMpi mpi_needed_by(const std::string& file, const Folders& run_path);

// The ABI of an MPI library, which may be named without its version; empty: it is none, or is not found.
std::string_view abi_of_file(const std::string& file, const Folders& run_path);

}  // namespace tempi::preload
