#include "mpi/newer_library.hpp"

#include <string>
#include <vector>

#include "base/log.hpp"
#include "mpi/real.hpp"
#include "mpi_config.h"

namespace tempi {
namespace {

std::vector<std::string> functions_without_entry() {
  const Real& library = real_pmpi();
  std::vector<std::string> names;
#define TEMPI_COUNTED(name) \
  if (TEMPI_HAVE_##name == 0 && library.name) names.emplace_back(#name);
#define TEMPI_SIGNED_LARGE(name, parameters) TEMPI_COUNTED(name)
#include "base/functions.def"
  return names;
}

}  // namespace

void warn_of_functions_without_entry() {
  const std::vector<std::string> names = functions_without_entry();
  if (names.empty()) return;
  warn_once("newer", "the MPI library has " + std::to_string(names.size()) + " functions (" + names.front() +
                         ", ...) that TEMPI does not handle, because it was built with " + TEMPI_MPI_VERSION_TEXT +
                         ". They may crash with GPU memory. Build TEMPI with the MPI library of the program");
}

}  // namespace tempi
