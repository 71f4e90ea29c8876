// Calls of TEMPI on a communicator of the program. If such a call fails, the error must not reach
// the error handler of the communicator.
#pragma once

#include "mpi/handle.hpp"
#include "mpi/real.hpp"

namespace tempi {

// While it lives, no error handler is told of errors on the communicator.
class Untold {
 public:
  explicit Untold(Handle comm) : comm_(comm) {
    real_pmpi().MPI_Comm_get_errhandler(comm_, &handler_);
    real_pmpi().MPI_Comm_set_errhandler(comm_, errors_return());
  }
  ~Untold() {
    real_pmpi().MPI_Comm_set_errhandler(comm_, handler_);
    real_pmpi().MPI_Errhandler_free(&handler_);
  }
  Untold(const Untold&) = delete;
  Untold& operator=(const Untold&) = delete;

 private:
  const Handle comm_;
  Handle handler_ = 0;
};

}  // namespace tempi
