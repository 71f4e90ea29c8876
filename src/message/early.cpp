#include "message/early.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "base/options.hpp"
#include "message/direct.hpp"

namespace tempi::message {
namespace {

using std::chrono::microseconds;

// The longest wait is about the time that it may save: that of the message packed and moved by the library (5 GB/s
// among GPUs, from 40 us on). An MPI_Send that a library completes at once must not wait for its receiver: programs
// rely on it.
constexpr std::int64_t kEagerBytes = 16 << 10;
constexpr microseconds kEagerPatience{10};
constexpr std::int64_t kBytesPerMicrosecond = 5000;

// A receiver that probes may be about to receive, or may wait for the message itself: a small part of what the wait may
// save.
constexpr std::int64_t kProbedBytesPerMicrosecond = 4 * kBytesPerMicrosecond;
constexpr unsigned kMostInVain = 4, kLeftOut = 32;  // waits for such a receiver, and messages until the next one

microseconds patience(Message& message) {
  static const microseconds kWanted{number(Option::PATIENCE)};
  const std::int64_t bytes = message.outs.bytes();
  if (message.outs.first().early->is_probed()) return kEagerPatience + microseconds(bytes / kProbedBytesPerMicrosecond);
  if (kWanted.count() > 0) return kWanted;
  if (message.is_blocking && bytes <= kEagerBytes) return kEagerPatience;
  return microseconds(100 + bytes / kBytesPerMicrosecond);
}

bool is_to(Message& message, Handle comm, int peer) {
  return key_of(message.comm) == key_of(comm) && message.outs.first().peer == peer;
}

}  // namespace

void EarlySends::add(const MessagePtr& message) { all_.push_back({message, Clock::now()}); }

bool EarlySends::takes_wait(Message& message) {
  const Turn& turn = *message.outs.first().early;
  if (!turn.is_probed()) return true;
  if (!message.is_blocking) return false;
  Prober& prober = probers_[turn.receiver];
  return prober.n_in_vain < kMostInVain || ++prober.n_left_out % kLeftOut == 0;
}

Before EarlySends::before(Message& message) const {
  const Part& part = message.outs.first();
  Before found = Before::none;
  for (const Early& early : all_) {
    if (!is_to(*early.message, message.comm, part.peer)) continue;
    if (early.message->outs.first().tag == part.tag) return Before::its_tag;
    found = Before::other_tags;
  }
  return found;
}

bool EarlySends::is_over(Early& early, Clock::time_point now, bool waits) {
  if (waits && !early.is_awaited) {
    early.is_awaited = true;
    early.begin = now;
  }
  return now >= early.begin + patience(*early.message);
}

// Those of `all_` are before it.
bool EarlySends::is_met(Early& early, Clock::time_point now, bool waits) {
  Part& part = early.message->outs.first();
  const Turn turn = *part.early;
  const Before others = before(*early.message);
  if (others != Before::its_tag && look(part, others == Before::none)) {
    if (part.direct && turn.is_probed()) probers_[turn.receiver] = {};
    return true;
  }
  if (!is_over(early, now, waits)) return false;
  if (early.message->is_blocking && turn.is_probed()) ++probers_[turn.receiver].n_in_vain;
  count_call(Function::direct, Outcome::timed_out, static_cast<std::uint64_t>(part.payload.bytes()));
  part.early.reset();
  return true;
}

std::vector<MessagePtr> EarlySends::take_met(bool waits) {
  std::vector<MessagePtr> met;
  std::deque<Early> every;
  every.swap(all_);
  const Clock::time_point now = Clock::now();
  for (Early& early : every) {
    if (!is_met(early, now, waits)) {
      all_.push_back(std::move(early));
      continue;
    }
    const Part& part = early.message->outs.first();
    if (!part.direct) {
      for (MessagePtr& before : take(early.message->comm, part.peer)) met.push_back(std::move(before));
    }
    met.push_back(std::move(early.message));
  }
  return met;
}

std::vector<MessagePtr> EarlySends::take(Handle comm, int peer) {
  std::vector<MessagePtr> taken;
  std::erase_if(all_, [&](Early& early) {
    if (!is_to(*early.message, comm, peer)) return false;
    early.message->outs.first().early.reset();
    taken.push_back(std::move(early.message));
    return true;
  });
  return taken;
}

}  // namespace tempi::message
