// From an Error to the program's MPI error handler, which decides.
#pragma once

#include "base/error.hpp"
#include "mpi/handle.hpp"

namespace tempi {

// Logs the error, gives its MPI error code to the communicator's error handler, and returns the code.
int raise(Handle comm, const Error& error) noexcept;
int raise(Handle comm, int mpi_error_class) noexcept;

// The result of a function that the loaded library lacks, an older one of this ABI. Python programs take a function for
// there if this library exports it: mpi4py raises NotImplementedError for this code (its PyMPI_ERR_UNAVAILABLE), as it
// does without this library.
inline constexpr int kFunctionIsMissing = -1431655766;

// Logs the error and returns its MPI error code.
int error_code(const Error& error) noexcept;

}  // namespace tempi
