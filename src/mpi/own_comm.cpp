#include "mpi/own_comm.hpp"

#include <mutex>

#include "base/call_lock.hpp"
#include "base/mutex.hpp"
#include "mpi/real.hpp"

namespace tempi {
namespace {

struct Own {
  RecursiveMutex<Lock::own_comm> mutex;  // an error handler of the program may come back
  Handle comm = comm_null();

  bool exists() const { return key_of(comm) != key_of(comm_null()); }
};

Own& own() {
  static auto& the_comm = *new Own;  // never destroyed: others may use it while the process exits
  return the_comm;
}

}  // namespace

bool has_world() noexcept {
  int began = 0, ended = 0;
  const Real& mpi = real_pmpi();
  const bool is_told = mpi.MPI_Initialized(&began) == MPI_SUCCESS && mpi.MPI_Finalized(&ended) == MPI_SUCCESS;
  return is_told && began != 0 && ended == 0;
}

Handle own_comm() noexcept {
  auto& [mutex, comm] = own();
  const CallLock lock(mutex);
  if (!own().exists()) {
    if (!has_world()) return comm_self();
    const Real& mpi = real_pmpi();
    // A duplicate would call the program's attribute functions.
    if (mpi.MPI_Comm_split(comm_self(), 0, 0, &comm) != MPI_SUCCESS || !own().exists()) return comm_self();
    mpi.MPI_Comm_set_errhandler(comm, errors_return());
  }
  return comm;
}

void end_own_comm() noexcept {
  auto& [mutex, comm] = own();
  const CallLock lock(mutex);
  if (own().exists()) real_pmpi().MPI_Comm_free(&comm);
}

}  // namespace tempi
