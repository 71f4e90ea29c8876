// The communicators of matched messages. MPI_Mrecv does not name its communicator, but TEMPI must call the error
// handler of the communicator.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/mutex.hpp"
#include "mpi/handle.hpp"

namespace tempi::message {

class MatchedComms {
 public:
  // Call it before the MPI call returns. Replaces an older entry for the handle, because the library reuses handles.
  void remember(Handle message, Handle comm);
  std::optional<Handle> take(Handle message);

 private:
  Mutex<Lock::matched_messages> mutex_;
  std::unordered_map<Handle, Handle> comms_;
};

MatchedComms& matched_comms();

}  // namespace tempi::message
