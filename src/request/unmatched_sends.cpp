#include "request/unmatched_sends.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "base/options.hpp"
#include "transport/transports.hpp"

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
constexpr unsigned kMostInVain = 4, kHopeless = 32;  // waits for such a receiver, and messages until the next one; also
                                                     // for receives that are not published

// A receiver that is in the call for certain may have to take, or to import, memory before it posts its receive. The
// receiver of a needed send may compute.
constexpr microseconds kLongTimeout{20'000};

Receiver receiver_of(const Message& message) {
  const Transfer& transfer = message.outs.first();
  return transfer.transport.receiver(transfer);
}

microseconds patience(Message& message, bool is_needed) {
  static const microseconds kWanted{number(Option::MATCH_TIMEOUT)};
  const std::int64_t bytes = message.outs.bytes();
  const Receiver receiver = receiver_of(message);
  if (receiver.is_probed) return kEagerTimeout + microseconds(bytes / kProbedBytesPerMicrosecond);
  if (kWanted.count() > 0) return kWanted;
  if (receiver.has_come || is_needed) return kLongTimeout + microseconds(bytes / kBytesPerMicrosecond);
  if (message.is_blocking && bytes <= kEagerBytes) return kEagerTimeout;
  return microseconds(100 + bytes / kBytesPerMicrosecond);
}

// By the library's rendezvous.
bool ends_with_receive(const Message& message) { return !message.is_buffered && message.outs.bytes() > kEagerBytes; }

bool is_among(Handle request, int count, const void* requests) {
  const char* const first = static_cast<const char*>(requests);
  for (int i = 0; i < count; ++i) {
    if (key_of(load_handle(first + static_cast<std::size_t>(i) * kRequestBytes)) == key_of(request)) return true;
  }
  return false;
}

bool is_to(Message& message, Handle comm, int peer) {
  return key_of(message.comm) == key_of(comm) && message.outs.first().peer == peer;
}

}  // namespace

void UnmatchedSends::add(const MessagePtr& message) { all_.push_back({message, Clock::now()}); }

// The place in the table may be another queue's.
bool UnmatchedSends::may_wait_long(const Message& message) {
  const Receiver receiver = receiver_of(message);
  Unpublished& known = unpublished(receiver);
  return !(known.receiver == receiver) || known.of_needed.are_worth_it();
}

void UnmatchedSends::note_needed(int count, const void* requests) {
  for (Unmatched& unmatched : all_) {
    const Message& message = *unmatched.message;
    if (ends_with_receive(message) && is_among(message.request, count, requests) && may_wait_long(message))
      unmatched.needed_by = std::this_thread::get_id();
  }
}

bool UnmatchedSends::are_others() const {
  return std::ranges::all_of(all_, [](const Unmatched& unmatched) {
    return unmatched.needed_by && *unmatched.needed_by != std::this_thread::get_id();
  });
}

UnmatchedSends::Unpublished& UnmatchedSends::unpublished(const Receiver& receiver) {
  return unpublished_[(receiver.queue >> 32 ^ receiver.queue) % kUnpublished];
}

void UnmatchedSends::count_in_vain(const Receiver& receiver, Waits Unpublished::* waits) {
  Unpublished& known = unpublished(receiver);
  if (!(known.receiver == receiver)) known = {receiver, {}, {}};
  ++(known.*waits).n_in_vain;
}

void UnmatchedSends::note_matched(const Transfer& transfer) {
  const Receiver receiver = transfer.transport.receiver(transfer);
  if (!transfer.match.is_put()) return count_in_vain(receiver, &Unpublished::waits);
  Unpublished& known = unpublished(receiver);
  if (known.receiver == receiver) known = {};
}

void UnmatchedSends::count_timeout(const Unmatched& unmatched) {
  const Transfer& transfer = unmatched.message->outs.first();
  const Receiver receiver = transfer.transport.receiver(transfer);
  if (unmatched.needed_by) count_in_vain(receiver, &Unpublished::of_needed);
  if (unmatched.message->is_blocking && receiver.is_probed) ++probing_receivers_[receiver.process].n_in_vain;
  count_call(Function::direct, Outcome::timed_out, static_cast<std::uint64_t>(transfer.packed_buffer.bytes()));
}

bool UnmatchedSends::Waits::are_worth_it() { return n_in_vain < kMostInVain || ++n_hopeless % kHopeless == 0; }

bool UnmatchedSends::takes_wait(Message& message) {
  const Receiver receiver = receiver_of(message);
  Unpublished& known = unpublished(receiver);
  if (known.receiver == receiver && !known.waits.are_worth_it()) return false;
  if (!receiver.is_probed) return true;
  return message.is_blocking && probing_receivers_[receiver.process].are_worth_it();
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
  return now >= unmatched.begin + patience(*unmatched.message, unmatched.needed_by.has_value());
}

// Those of `all_` are before it.
bool UnmatchedSends::is_matched(Unmatched& unmatched, Clock::time_point now, bool waits) {
  Transfer& transfer = unmatched.message->outs.first();
  const Before others = before(*unmatched.message);
  if (others != Before::its_tag) transfer.match = transfer.transport.match(transfer, others == Before::none);
  if (!transfer.match.is_unmatched()) {
    note_matched(transfer);
    if (!transfer.match.is_put()) return true;
    if (const Receiver receiver = transfer.transport.receiver(transfer); receiver.is_probed)
      probing_receivers_[receiver.process] = {};
    return true;
  }
  if (!is_over(unmatched, now, waits)) return false;
  count_timeout(unmatched);
  transfer.match = {};
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
    if (!transfer.match.is_put()) {
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
    unmatched.message->outs.first().match = {};
    taken.push_back(std::move(unmatched.message));
    return true;
  });
  return taken;
}

}  // namespace tempi::message
