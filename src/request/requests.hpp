// The program's array of requests, and the managed requests in it.
#pragma once

#include <vector>

#include "request/progress.hpp"

namespace tempi::message {

// True if the message is complete without the library. A message that a query has reported complete ("seen") may still
// have a request in the library. Then the library must complete the request, because only the completing call calls the
// error handler for an error. (In MPICH, a query makes a persistent request inactive, so nothing remains to complete.)
inline bool is_ended(const Message& message) {
  const bool request_stays = (message.lifetime == Lifetime::plain || TEMPI_MPI_ABI_OPENMPI) && !message.is_collective();
  return message.ends_without_library() && !(request_stays && message.is(MessageState::seen));
}

// The messages of requests that a call is completing. They are not managed during the call, because the library
// may reuse the handle of a completed request immediately, for a new request of another thread.
class Requests {
 public:
  // `is_sound` is false: the library will refuse the call, so no message is taken.
  Requests(bool is_sound, int count, void* program);
  // Messages that no call has taken are managed again.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  bool any_managed() const { return !messages_.empty(); }
  int size() const { return count_; }
  const std::vector<MessagePtr>& messages() const { return messages_; }  // null where none is managed
  const MessagePtr& message(int i) const { return messages_[static_cast<std::size_t>(i)]; }
  MessagePtr take(int i) { return std::move(messages_[static_cast<std::size_t>(i)]); }
  void* slot(int i) const { return program_ + static_cast<std::size_t>(i) * kRequestBytes; }

  // Waits for the continuations of the messages (`waits`) or queries them. Then finds out whether requests are pending,
  // and the first one that is complete without the library.
  void look(bool waits) noexcept;
  bool any_pending() const { return any_pending_; }
  int first_that_ends_without_library() const { return first_ended_; }  // -1: none

 private:
  int count_;
  char* program_;
  std::vector<MessagePtr> messages_;  // empty if none is managed
  bool any_pending_ = false;
  int first_ended_ = -1;
};

// The array that the library gets: the program's array, or a copy in which two kinds of requests are null: pending
// requests, and requests that are complete without the library.
class VisibleRequests {
 public:
  explicit VisibleRequests(const Requests& requests);
  void* data() { return is_copy() ? copy_.data() : requests_.slot(0); }
  bool is_copy() const { return !copy_.empty(); }
  void write_back();  // copies changed handles back

 private:
  const Requests& requests_;
  std::vector<char> copy_{};
  std::vector<bool> hidden_{};
};

}  // namespace tempi::message
