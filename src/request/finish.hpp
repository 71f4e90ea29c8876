// After the library has completed requests, TEMPI unpacks received packed bytes, releases the requests, and gives the
// program status and code.
//
// A return code alone is not reliable: if the program's error handler returns, MPICH reports success of a failed call.
// The memory that a call has written shows its effect: a request that is not null, a filled status, an error in
// the status.
//
// TEMPI never queries a request that a call of the program completes. A query makes a persistent request of MPICH
// inactive, ends the request of a file operation, and calls another error handler than the completing call.
#pragma once

#include <climits>
#include <utility>
#include <vector>

#include "mpi/real.hpp"
#include "request/requests.hpp"

namespace tempi::message {

// Not every mpi.h lets MPI_STATUS_IGNORE be compared without a cast.
inline bool is_ignored(const MPI_Status* status) { return status == MPI_STATUS_IGNORE; }
inline bool are_ignored(const MPI_Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }

// No library writes this source, or this error, into a status.
inline constexpr int kNotFilled = INT_MIN + 77;
inline bool is_filled(const MPI_Status& status) { return status.MPI_SOURCE != kNotFilled; }
inline bool has_error(const MPI_Status& status) { return status.MPI_ERROR != kNotFilled; }  // MPI_SUCCESS, too

// The fields of the program's status that mark what the library writes during a call.
class Marked {
 public:
  explicit Marked(MPI_Status& status)
      : source_(std::exchange(status.MPI_SOURCE, kNotFilled)), error_(std::exchange(status.MPI_ERROR, kNotFilled)) {}
  void restore(MPI_Status& status) const {
    if (!is_filled(status)) status.MPI_SOURCE = source_;
    if (!has_error(status)) status.MPI_ERROR = error_;
  }

 private:
  int source_, error_;
};

// True if the library accepts this status; it refuses null unless null is MPI_STATUS_IGNORE.
inline bool is_status(const MPI_Status* status) { return status != nullptr || is_ignored(status); }
inline bool are_statuses(const MPI_Status* statuses) { return statuses != nullptr || are_ignored(statuses); }

// The status that the library writes: the program's, or one of TEMPI if the program ignores it. The fields are marked
// before the call. Marked fields that the library does not write get their old values back.
class SeenStatus {
 public:
  explicit SeenStatus(MPI_Status* program) : at_(is_ignored(program) ? &own_ : program), marked_(*at_) {}
  ~SeenStatus() { marked_.restore(*at_); }
  SeenStatus(const SeenStatus&) = delete;
  SeenStatus& operator=(const SeenStatus&) = delete;
  MPI_Status* get() { return at_; }
  bool is_filled() const { return message::is_filled(*at_); }

 private:
  MPI_Status own_{};
  MPI_Status* at_;
  Marked marked_;
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
  std::vector<Marked> marked_{};
  MPI_Status* at_;
};

// A request that the library has completed, with its status and code.
struct Completed {
  MessagePtr message;  // null once it is cached, or managed again
  void* slot;          // address of the program's handle; null if the program has freed the request
  MPI_Status* status;
  int code;
};

void unpack(const std::vector<Completed>& all) noexcept;

// A query or MPI_Testall has reported that a started request is complete, without completing it. Unpacks the message,
// which becomes "seen", and corrects `status`. `code` is the error of the request.
void note_told(const MessagePtr& message, MPI_Status* status, int code) noexcept;

// True if the request is complete after a call. `slot`: address of the program's handle. `is_said`: the result of the
// call says that the request is complete. (The status does not always say it: MPICH may write no status for a send.)
bool is_complete(const Message& message, const void* slot, const MPI_Status& status, bool is_said) noexcept;

// For calls about one request: the code of the call. The library has called the error handler for its own errors.
int finish_one(MessagePtr message, void* slot, MPI_Status* status, int code) noexcept;

// After Waitall and Testall. `are_said`: the result of the call says that all requests are complete.
int finish_all(Requests& requests, const SeenStatuses& statuses, int code, bool are_said) noexcept;

// After Waitsome and Testsome: `n_done` of them, statuses in the order of `indices`.
int finish_some(Requests& requests, const SeenStatuses& statuses, int n_done, const int* indices, int code) noexcept;

// After Waitany and Testany; nothing for MPI_UNDEFINED.
int finish_any(Requests& requests, int index, MPI_Status* status, int code) noexcept;

// Ends a request that the program has freed. True: it was complete, and is released; always so with `waits`.
bool end_orphan(const MessagePtr& message, bool waits) noexcept;

// Ends a message that is complete or inactive; frees its request if that is TEMPI's own (Lifetime::ours).
void end_message(Message& message) noexcept;

// The status of a receive from MPI_PROC_NULL.
void say_nobody(MPI_Status& status) noexcept;

// Calls MPI_Wait of the library, or MPI_Test if the request is inactive to the library. `message` is null if the
// request is not managed. Reasons:
// - Open MPI 5: MPI_Wait of a request that was never started reads a status that nobody has written. A 76 there is
//   taken for MPI_ERR_PROC_FAILED_PENDING. MPI_Test of an inactive request returns at once.
// - MPICH: if a query has reported the request of a file operation as complete, MPI_Test would
//   complete it again. MPI_Wait does not.
int library_wait(const Real& real, const Message* message, void* slot, MPI_Status* status) noexcept;

// Ends the continuation, if there is one.
void end_continuation(Message& message, bool waits) noexcept;

// Unpacks a receive that has ended with `code`; never more bytes than fit. `arrow`: Transfer::arrow.
void unpack_received(PackedBuffer& packed_buffer, int code, const MPI_Status& status, std::uint64_t arrow);

}  // namespace tempi::message
