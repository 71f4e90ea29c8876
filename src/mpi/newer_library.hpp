// A program may run with a newer MPI library than the one that this shim was built with.
#pragma once

namespace tempi {

// Warns if the loaded library has functions that move data, and that this shim does not define: the mpi.h that it was
// built with does not declare them. Calls of these functions bypass TEMPI.
void warn_of_functions_without_entry();

}  // namespace tempi
