// A program may run with a newer MPI library than the one that this shim was built with.
#pragma once

#include <string>
#include <vector>

namespace tempi {

// The functions of the loaded library that move data, and that this shim does not define: the mpi.h that it was built
// with does not declare them. Calls of these functions bypass TEMPI.
std::vector<std::string> functions_without_entry();

// Warns if there are any.
void warn_of_functions_without_entry();

}  // namespace tempi
