// Passes an Error to the program's MPI error handler, which decides how the program goes on.
#pragma once

#include "base/error.hpp"
#include "mpi/handle.hpp"

namespace tempi {

// Logs the error, gives its MPI error code to the communicator's error handler, and returns the code.
int raise(Handle comm, const Error& error) noexcept;
// The same for an error code of MPI, without the log. An error class is an error code, too.
int raise(Handle comm, int code) noexcept;

// The result of a function that the loaded library lacks, because it is an older library of this ABI. Python programs
// assume that a function exists if libtempi.so exports it. mpi4py calls this code PyMPI_ERR_UNAVAILABLE, and raises
// NotImplementedError for it, as it does without TEMPI.
inline constexpr int kFunctionIsMissing = -1431655766;

// Logs the error and returns its MPI error code.
int error_code(const Error& error) noexcept;

}  // namespace tempi
