// The program's array of requests, and the managed requests in it.
#pragma once

#include <vector>

#include "transfer/engine.hpp"

namespace tempi::message {

// Complete without the library. The library must still complete a message that a query has reported complete, if its
// request remains: the completing call tells its error handler of an error. (A query makes MPICH's persistent requests
// inactive: they do not remain.)
inline bool is_ended(const Message& message) {
  const bool request_stays = (message.lifetime == Lifetime::plain || TEMPI_MPI_ABI_OPENMPI) && !message.is_collective();
  return message.ends_without_library() && !(request_stays && message.is(MessageState::seen));
}

// Messages of requests that a call is completing. They are not in the engine meanwhile: the library may reuse the
// handle of a completed request for another thread's new request at once.
class Requests {
 public:
  // Empty if `is_sound` is false: a call that the library will refuse completes nothing.
  Requests(bool is_sound, int count, void* program);
  // Messages that no call has taken return to the engine.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  bool any_managed() const { return !messages_.empty(); }
  int size() const { return count_; }
  const std::vector<MessagePtr>& messages() const { return messages_; }  // null where none is managed
  const MessagePtr& message(int i) const { return messages_[static_cast<std::size_t>(i)]; }
  MessagePtr take(int i) { return std::move(messages_[static_cast<std::size_t>(i)]); }
  void* slot(int i) const { return program_ + static_cast<std::size_t>(i) * kRequestBytes; }

  // Waits for the continuations of messages, or queries them; then finds the pending requests and an ended one.
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

// The array as the library sees it: the program's, or a copy in which the pending requests, and those that are complete
// without the library, are null.
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
