#include "mpi/progress.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/call_lock.hpp"
#include "base/mutex.hpp"
#include "mpi/own_comm.hpp"
#include "mpi/real.hpp"

namespace tempi {
namespace {

// A receive of this process from itself, on a communicator of ours: no message ever comes. Its status is asked for,
// because probes do not always let the library go on: one that finds a message does not, nor does one of messages to
// oneself (MPICH 5.0.2).
struct Endless {
  RecursiveMutex<Lock::library_progress> mutex;  // an error handler of the program may wait in it
  Handle comm = comm_null(), receive = request_null();
  std::atomic<bool> may_be_held{false};  // by a LibraryHeld

  int begin() {
    const Real& mpi = real_pmpi();
    // A duplicate would call the program's attribute functions.
    int code = mpi.MPI_Comm_split(comm_self(), 0, 0, &comm);
    if (code != MPI_SUCCESS || key_of(comm) == key_of(comm_null())) return failed(code);
    code = mpi.MPI_Irecv(nullptr, 0, type_byte(), 0, 0, comm, &receive);
    if (is_made(code, receive)) return MPI_SUCCESS;
    mpi.MPI_Comm_free(&comm);
    return failed(code);
  }

 private:
  // A library may say otherwise when the program's error handler has returned.
  static int failed(int code) { return code != MPI_SUCCESS ? code : MPI_ERR_OTHER; }
};

Endless& endless() {
  static auto& the_receive = *new Endless;  // never destroyed: others may wait while the process exits
  return the_receive;
}

}  // namespace

int let_library_go_on() noexcept {
  auto& [mutex, comm, receive, may_be_held] = endless();
  {
    const CallLock lock(mutex);
    if (is_null(receive)) {
      if (!has_world()) return MPI_SUCCESS;  // MPI_COMM_SELF is not valid either
      if (const int code = endless().begin(); code != MPI_SUCCESS) return code;
    }
  }
  int flag = 0;
  const auto ask = [&] { return real_pmpi().MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE); };
  if (!may_be_held.load(std::memory_order_relaxed)) return ask();
  const LibraryHeld alone;
  return ask();
}

void LibraryHeld::expect() noexcept { endless().may_be_held.store(true, std::memory_order_relaxed); }

LibraryHeld::LibraryHeld() noexcept : may_overlap_(calls_may_overlap.load(std::memory_order_relaxed)) {
  if (may_overlap_) endless().mutex.lock();
}

LibraryHeld::~LibraryHeld() {
  if (may_overlap_) endless().mutex.unlock();
}

void end_library_progress() noexcept {
  auto& [mutex, comm, receive, may_be_held] = endless();
  const CallLock lock(mutex);
  if (is_null(receive)) return;
  const Real& mpi = real_pmpi();
  mpi.MPI_Cancel(&receive);
  mpi.MPI_Wait(&receive, MPI_STATUS_IGNORE);
  mpi.MPI_Comm_free(&comm);
}

}  // namespace tempi
