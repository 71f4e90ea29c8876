#include "transfer/unmatched_sends.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "base/options.hpp"
#include "transport/ipc/ipc.hpp"

namespace tempi::message {
namespace {

using std::chrono::microseconds;

// The longest wait is about the time that it may save: that of the message packed and moved by the library (5 GB/s
// among GPUs, from 40 us on). An MPI_Send that a library completes at once must not wait for its receiver: programs
// rely on it.
constexpr std::int64_t kEagerBytes = 16 << 10;
constexpr microseconds kEagerTimeout{10};
constexpr std::int64_t kBytesPerMicrosecond = 5000;

// A receiver that probes may be about to receive, or may wait for the message itself: a small part of what the wait may
// save.
constexpr std::int64_t kProbedBytesPerMicrosecond = 4 * kBytesPerMicrosecond;
constexpr unsigned kMostInVain = 4, kLeftOut = 32;  // waits for such a receiver, and messages until the next one; also
                                                    // for receives that are not published

microseconds patience(Message& message) {
  static const microseconds kWanted{number(Option::MATCH_TIMEOUT)};
  const std::int64_t bytes = message.outs.bytes();
  if (message.outs.first().unmatched->is_probed())
    return kEagerTimeout + microseconds(bytes / kProbedBytesPerMicrosecond);
  if (kWanted.count() > 0) return kWanted;
  if (message.is_blocking && bytes <= kEagerBytes) return kEagerTimeout;
  return microseconds(100 + bytes / kBytesPerMicrosecond);
}

bool is_to(Message& message, Handle comm, int peer) {
  return key_of(message.comm) == key_of(comm) && message.outs.first().peer == peer;
}

}  // namespace

void UnmatchedSends::add(const MessagePtr& message) { all_.push_back({message, Clock::now()}); }

UnmatchedSends::Unpublished& UnmatchedSends::unpublished(const SequencedSend& sequenced) {
  return unpublished_[(ipc::first_match_queue(sequenced.key) + static_cast<std::size_t>(sequenced.rank)) %
                      kUnpublished];
}

void UnmatchedSends::note_matched(const SequencedSend& sequenced, bool is_direct) {
  Unpublished& known = unpublished(sequenced);
  const bool is_its_own = known.receiver == sequenced.receiver && known.match_queue == sequenced.key;
  if (is_direct && is_its_own) known = {};
  if (is_direct) return;
  if (!is_its_own) known = {sequenced.receiver, sequenced.key, {}};
  ++known.waits.n_in_vain;
}

bool UnmatchedSends::Waits::are_worth_it() { return n_in_vain < kMostInVain || ++n_left_out % kLeftOut == 0; }

bool UnmatchedSends::takes_wait(Message& message) {
  const SequencedSend& sequenced = *message.outs.first().unmatched;
  Unpublished& match_queue = unpublished(sequenced);
  if (match_queue.receiver == sequenced.receiver && match_queue.match_queue == sequenced.key &&
      !match_queue.waits.are_worth_it())
    return false;
  if (!sequenced.is_probed()) return true;
  return message.is_blocking && probing_receivers_[sequenced.receiver].are_worth_it();
}

Before UnmatchedSends::before(Message& message) const {
  const Transfer& transfer = message.outs.first();
  Before found = Before::none;
  for (const Unmatched& unmatched : all_) {
    if (!is_to(*unmatched.message, message.comm, transfer.peer)) continue;
    if (unmatched.message->outs.first().tag == transfer.tag) return Before::its_tag;
    found = Before::other_tags;
  }
  return found;
}

bool UnmatchedSends::is_over(Unmatched& unmatched, Clock::time_point now, bool waits) {
  if (waits && !unmatched.is_awaited) {
    unmatched.is_awaited = true;
    unmatched.begin = now;
  }
  return now >= unmatched.begin + patience(*unmatched.message);
}

// Those of `all_` are before it.
bool UnmatchedSends::is_matched(Unmatched& unmatched, Clock::time_point now, bool waits) {
  Transfer& transfer = unmatched.message->outs.first();
  const SequencedSend sequenced = *transfer.unmatched;
  const Before others = before(*unmatched.message);
  if (others != Before::its_tag && look(transfer, others == Before::none)) {
    note_matched(sequenced, transfer.put != nullptr);
    if (transfer.put && sequenced.is_probed()) probing_receivers_[sequenced.receiver] = {};
    return true;
  }
  if (!is_over(unmatched, now, waits)) return false;
  if (unmatched.message->is_blocking && sequenced.is_probed()) ++probing_receivers_[sequenced.receiver].n_in_vain;
  count_call(Function::direct, Outcome::timed_out, static_cast<std::uint64_t>(transfer.packed_buffer.bytes()));
  transfer.unmatched.reset();
  return true;
}

std::vector<MessagePtr> UnmatchedSends::take_matched(bool waits) {
  std::vector<MessagePtr> matched;
  std::deque<Unmatched> every;
  every.swap(all_);
  const Clock::time_point now = Clock::now();
  for (Unmatched& unmatched : every) {
    if (!is_matched(unmatched, now, waits)) {
      all_.push_back(std::move(unmatched));
      continue;
    }
    const Transfer& transfer = unmatched.message->outs.first();
    if (!transfer.put) {
      for (MessagePtr& before : take(unmatched.message->comm, transfer.peer)) matched.push_back(std::move(before));
    }
    matched.push_back(std::move(unmatched.message));
  }
  return matched;
}

std::vector<MessagePtr> UnmatchedSends::take(Handle comm, int peer) {
  std::vector<MessagePtr> taken;
  std::erase_if(all_, [&](Unmatched& unmatched) {
    if (!is_to(*unmatched.message, comm, peer)) return false;
    unmatched.message->outs.first().unmatched.reset();
    taken.push_back(std::move(unmatched.message));
    return true;
  });
  return taken;
}

}  // namespace tempi::message
