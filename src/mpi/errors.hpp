// From an Error to the program's MPI error handler, which decides.
#pragma once

#include "base/error.hpp"
#include "mpi/handle.hpp"

namespace tempi {

// Logs the error, gives its MPI error code to the communicator's error handler, and returns the code.
int raise(Handle comm, const Error& error) noexcept;
int raise(Handle comm, int mpi_error_class) noexcept;

// Logs the error and returns its MPI error code.
int error_code(const Error& error) noexcept;

}  // namespace tempi
