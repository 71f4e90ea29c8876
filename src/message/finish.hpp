// What becomes of requests that the library has completed: what has come is unpacked, requests are given back, and the
// program is told.
//
// A code alone tells nothing: where an error handler of the program returns, MPICH says success to a call that has
// failed. The effect of a call shows in the memory that it has written: a request that is no longer null, a status that
// is filled.
#pragma once

#include <climits>
#include <utility>
#include <vector>

#include "message/requests.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

// Not in every mpi.h where it can be compared without a cast.
inline bool is_ignored(const MPI_Status* status) { return status == MPI_STATUS_IGNORE; }
inline bool are_ignored(const MPI_Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }

// No library writes this source into a status.
inline constexpr int kNotFilled = INT_MIN + 77;
inline bool is_filled(const MPI_Status& status) { return status.MPI_SOURCE != kNotFilled; }

// May the library be given this status? Where null does not mean that it is ignored, it is refused.
inline bool is_status(const MPI_Status* status) { return status != nullptr || is_ignored(status); }
inline bool are_statuses(const MPI_Status* statuses) { return statuses != nullptr || are_ignored(statuses); }

// The status that the library writes: the program's, or ours where the program does not care but we do. It says that it
// is not filled until the library fills it; one that stays so is afterwards as it was before.
class SeenStatus {
 public:
  explicit SeenStatus(MPI_Status* program)
      : at_(is_ignored(program) ? &own_ : program), source_(std::exchange(at_->MPI_SOURCE, kNotFilled)) {}
  ~SeenStatus() {
    if (!is_filled()) at_->MPI_SOURCE = source_;
  }
  SeenStatus(const SeenStatus&) = delete;
  SeenStatus& operator=(const SeenStatus&) = delete;
  MPI_Status* get() { return at_; }
  bool is_filled() const { return message::is_filled(*at_); }

 private:
  MPI_Status own_{};
  MPI_Status* at_;
  int source_;
};

class SeenStatuses {
 public:
  SeenStatuses(int count, MPI_Status* program);
  ~SeenStatuses();
  SeenStatuses(const SeenStatuses&) = delete;
  SeenStatuses& operator=(const SeenStatuses&) = delete;
  MPI_Status* at(int i) const { return at_ + i; }

 private:
  std::vector<MPI_Status> own_;
  std::vector<int> sources_;
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

// Is the request complete after a call that said `code`? `slot` is where the program keeps the handle.
bool is_complete(const Message& message, const void* slot, const MPI_Status& status, int code) noexcept;

// For calls about one request: the code of the call. The library has told the error handler of its own errors.
int finish_one(MessagePtr message, void* slot, MPI_Status* status, int code) noexcept;

// After Waitall and a Testall that was successful.
int finish_all(Requests& requests, const SeenStatuses& statuses, int code) noexcept;

// After Waitsome and Testsome: `n_done` of them, statuses in the order of `indices`.
int finish_some(Requests& requests, const SeenStatuses& statuses, int n_done, const int* indices, int code) noexcept;

// After Waitany and Testany; nothing for MPI_UNDEFINED.
int finish_any(Requests& requests, int index, MPI_Status* status, int code) noexcept;

// Of a request that the program has freed: true when it is complete, and nothing of it is left. With `waits`, it is.
bool end_orphan(const MessagePtr& message, bool waits) noexcept;

// The status of a receive from MPI_PROC_NULL.
void say_nobody(MPI_Status& status) noexcept;

// The send half of an Isendrecv, where it is one.
void end_sibling(Message& message, bool waits) noexcept;

// Of a receive that has ended with `code`: unpacks what has come, which is never more than it has room for.
void unpack_received(Payload& payload, int code, const MPI_Status& status);

}  // namespace tempi::message
