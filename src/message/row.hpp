// A row: sends that the program posts one after the other, before a call that waits for them or looks at them.
//
// The first send of a row starts in its call, the others wait for each other and share launches. A row that begins as
// the last one of several did is taken to have several again: its first send, too, waits for the others.
#pragma once

#include <cstddef>

#include "message/message.hpp"

namespace tempi::message {

class Row {
 public:
  void add(Message& message) {
    if (n_++ == 0) first_ = name_of(message);
  }
  // A send of it has been waited for in its call.
  void note_awaited() { was_awaited_ = true; }
  bool may_await() const { return !was_awaited_ && !expects_several(); }
  bool expects_several() const { return first_ == first_of_several_; }
  bool is_open() const { return n_ > 0; }

  void end() {
    if (n_ > 1) first_of_several_ = first_;
    else if (n_ == 1 && expects_several()) first_of_several_ = {};
    n_ = 0;
    was_awaited_ = false;
  }

 private:
  struct Name {
    Handle comm = 0;
    int peer = MPI_PROC_NULL, tag = MPI_ANY_TAG;
    bool operator==(const Name&) const = default;
  };
  static Name name_of(Message& message) {
    const Part& part = message.outs.first();
    return {key_of(message.comm), part.peer, part.tag};
  }

  std::size_t n_ = 0;
  bool was_awaited_ = false;
  Name first_{}, first_of_several_{};
};

}  // namespace tempi::message
