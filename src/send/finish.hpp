// What becomes of requests that the library has completed: what has come is unpacked, requests are given back, and the
// program is told.
#pragma once

#include <vector>

#include "mpi/real.hpp"
#include "send/requests.hpp"

namespace tempi::send {

// Not in every mpi.h where it can be compared without a cast.
inline bool is_ignored(const MPI_Status* status) { return status == MPI_STATUS_IGNORE; }
inline bool are_ignored(const MPI_Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }

// Where the library writes a status: the program's, or one of ours where the program does not care but we do.
class Statuses {
 public:
  Statuses(int count, MPI_Status* program);
  MPI_Status* at(int i) const { return at_ + i; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* at_;
};

// A request that the library has completed, with what it said.
struct Completed {
  MessagePtr message;
  void* slot;  // where the program keeps the handle; null for one that it has freed
  MPI_Status* status;
  int code;
};

void unpack(const std::vector<Completed>& all) noexcept;

// For calls about one request: the code of the call. The library has told the error handler of its own errors.
int finish_one(MessagePtr message, void* slot, MPI_Status* status, int code) noexcept;

// After Waitall and a Testall that was successful.
int finish_all(Requests& requests, const Statuses& statuses, int code) noexcept;

// After Waitsome and Testsome: `n_done` of them, statuses in the order of `indices`.
int finish_some(Requests& requests, const Statuses& statuses, int n_done, const int* indices, int code) noexcept;

// After Waitany and Testany; nothing for MPI_UNDEFINED.
int finish_any(Requests& requests, int index, MPI_Status* status, int code) noexcept;

// Of a request that the program has freed: true when it is complete, and nothing of it is left. With `waits`, it is.
bool end_orphan(const MessagePtr& message, bool waits) noexcept;

// The send half of an Isendrecv, where it is one.
void end_sibling(Message& message, bool waits) noexcept;

// How many bytes a completed receive has brought.
std::int64_t received_bytes(const MPI_Status& status);

}  // namespace tempi::send
