// A communicator of TEMPI, made from one of the program.
#pragma once

#include <memory>

#include "mpi/handle.hpp"

namespace tempi::collective {

// The communicator is freed with the object if `is_freed` is set: all members set it in the same
// call.
struct OwnComm {
  Handle handle;
  bool is_freed = false;

  explicit OwnComm(Handle made) : handle(made) {}
  ~OwnComm();
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;
};

// Collective: the members of `parent` with the same color, in the order of the keys. It is made by a split: a duplicate
// would call the program's attribute functions. No error handler is told of errors on it. Null: the color is
// MPI_UNDEFINED, or the library has made none.
std::shared_ptr<OwnComm> make_own_comm(Handle parent, int color, int key);

}  // namespace tempi::collective
