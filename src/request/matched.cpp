#include "request/matched.hpp"

#include "base/call_lock.hpp"

namespace tempi::message {

void MatchedComms::remember(Handle message, Handle comm) {
  const CallLock lock(mutex_);
  comms_[key_of(message)] = comm;
}

std::optional<Handle> MatchedComms::take(Handle message) {
  const CallLock lock(mutex_);
  const auto found = comms_.extract(key_of(message));
  return found ? std::optional(found.mapped()) : std::nullopt;
}

MatchedComms& matched_comms() {
  static auto& all = *new MatchedComms;
  return all;
}

}  // namespace tempi::message
