#include "preload/abi.hpp"

namespace tempi::preload {

// Open MPI's libmpi.so.40 and MPICH's libmpi.so.12 have relatives with names of their own: for Fortran and C++, of
// Debian (libmpich.so.12), of vendors.
std::string_view abi_of_library(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libmpi_abi.so.")) return "mpiabi";
  if (!name.starts_with("libmpi")) return "";
  if (name.ends_with(".so.40")) return "openmpi";
  if (name.ends_with(".so.12")) return "mpich";
  return "";
}

}  // namespace tempi::preload
