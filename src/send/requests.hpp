// The program's array of requests, and the managed ones among them.
#pragma once

#include <vector>

#include "send/engine.hpp"

namespace tempi::send {

// While a call completes requests, their messages are here and not with the engine: the library may give the handle of
// a completed request to another thread's new one at once.
class Requests {
 public:
  Requests(int count, void* program);
  // Messages that nobody has taken go back to the engine.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  bool any_managed() const { return !messages_.empty(); }
  int size() const { return count_; }
  const MessagePtr& message(int i) const { return messages_[static_cast<std::size_t>(i)]; }
  MessagePtr take(int i) { return std::move(messages_[static_cast<std::size_t>(i)]); }
  void* slot(int i) const { return program_ + static_cast<std::size_t>(i) * kRequestBytes; }

  // The send halves of Isendrecvs: waits for them, or has a look.
  void tend_siblings(bool waits) noexcept;
  bool any_pending() const;
  int first_that_ends_without_library() const;  // -1: none

 private:
  int count_;
  char* program_;
  std::vector<MessagePtr> messages_;  // empty where none is managed
};

// A copy of the array in which the library does not see the pending ones: to it they are inactive.
class VisibleRequests {
 public:
  explicit VisibleRequests(const Requests& requests);
  void* data() { return copy_.data(); }
  void write_back();  // what the library has changed
  bool hides_any() const { return hides_any_; }

 private:
  const Requests& requests_;
  std::vector<char> copy_;
  std::vector<bool> hidden_;
  bool hides_any_ = false;
};

}  // namespace tempi::send
