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
constexpr unsigned kMostInVain = 4, kLeftOut = 32;  // waits for such a receiver, and messages until the next one; also
                                                    // for receives that are not published

// A receiver that is in the call for certain may have to take, or to import, memory before it posts its receive.
constexpr microseconds kPatienceInCall{20'000};

microseconds patience(Message& message) {
  static const microseconds kWanted{number(Option::MATCH_TIMEOUT)};
  const std::int64_t bytes = message.outs.bytes();
  if (message.outs.first().early->is_probed()) return kEagerPatience + microseconds(bytes / kProbedBytesPerMicrosecond);
  if (kWanted.count() > 0) return kWanted;
  if (message.outs.first().early->has_come) return kPatienceInCall + microseconds(bytes / kBytesPerMicrosecond);
  if (message.is_blocking && bytes <= kEagerBytes) return kEagerPatience;
  return microseconds(100 + bytes / kBytesPerMicrosecond);
}

bool is_to(Message& message, Handle comm, int peer) {
  return key_of(message.comm) == key_of(comm) && message.outs.first().peer == peer;
}

}  // namespace

void EarlySends::add(const MessagePtr& message) { all_.push_back({message, Clock::now()}); }

EarlySends::Unpublished& EarlySends::unpublished(const Turn& turn) {
  return unpublished_[(mailbox::first_line(turn.key) + static_cast<std::size_t>(turn.rank)) % kUnpublished];
}

void EarlySends::note_met(const Turn& turn, bool is_direct) {
  Unpublished& known = unpublished(turn);
  const bool is_its_own = known.receiver == turn.receiver && known.line == turn.key;
  if (is_direct && is_its_own) known = {};
  if (is_direct) return;
  if (!is_its_own) known = {turn.receiver, turn.key, {}};
  ++known.waits.n_in_vain;
}

bool EarlySends::Waits::are_worth_it() { return n_in_vain < kMostInVain || ++n_left_out % kLeftOut == 0; }

bool EarlySends::takes_wait(Message& message) {
  const Turn& turn = *message.outs.first().early;
  Unpublished& line = unpublished(turn);
  if (line.receiver == turn.receiver && line.line == turn.key && !line.waits.are_worth_it()) return false;
  if (!turn.is_probed()) return true;
  return message.is_blocking && probers_[turn.receiver].are_worth_it();
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
    note_met(turn, part.direct != nullptr);
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
