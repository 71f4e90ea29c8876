#include "transport/ipc/published_receives.hpp"

#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "mpi/progress.hpp"
#include "request/progress.hpp"
#include "transport/ipc/not_importable.hpp"

namespace tempi::message {
namespace {

using ipc::MatchQueue;
using ipc::OwnSegment;
using ipc::PublishedWord;
using ipc::Segment;
using ipc::Slot;

struct Published {
  Mutex<Lock::published_receives> mutex;
  std::array<PublishedReceive*, ipc::kSlots> by_slot{};
};

Published& published() {
  static auto& the_published = *new Published;  // never destroyed: published receives end while the process exits
  return the_published;
}

using Clock = std::chrono::steady_clock;

// Of a receive that is complete by an error: its sender may have died.
constexpr std::chrono::milliseconds kClaimLasts{5000};
constexpr std::chrono::milliseconds kBetweenLooks{10};  // at whether the sender lives

// False: it stays claimed. `source`: the sender's rank in MPI_COMM_WORLD.
bool wait_for_claim(const Slot& slot, bool has_come, int source) {
  const auto is_claimed = [&] { return slot.state() == PublishedState::claimed; };
  if (!is_claimed()) return true;
  const bool is_remote = has_come && slot.own == nullptr;
  const auto patience = has_come ? kBetweenLooks : kClaimLasts;
  for (auto end = Clock::now() + patience; is_claimed(); std::this_thread::yield()) {
    if (is_remote) let_library_go_on();  // the sender may still be sending other FIN messages
    if (Clock::now() < end) continue;
    if (!has_come || (is_remote && !ipc::is_alive(ipc::own_job(), source))) return !is_claimed();
    end = Clock::now() + patience;
  }
  return true;
}

}  // namespace

std::uint16_t PublishedReceive::slot_number() const {
  return static_cast<std::uint16_t>(&slot_ - OwnSegment::own().segment().slots.data());
}

PublishedWord PublishedReceive::word(PublishedState state) const {
  return {n_, OwnSegment::own().segment().number_of(*match_queue_), state};
}

// With the lock: a cancellation closes the receives first, and finds all that were published before.
bool PublishedReceive::post() noexcept {
  const CallLock lock(published().mutex);
  if (!counted_by->publishes()) return false;
  published().by_slot[slot_number()] = this;
  publish();
  return true;
}

void PublishedReceive::publish() noexcept {
  is_posted_ = true;
  slot_.word.store(word(PublishedState::published).bits(), std::memory_order_release);
  match_queue_->slots[n_ % ipc::kWindow].store(slot_number(), std::memory_order_release);
  match_queue_->post(n_);
}

// False: it is claimed, or was; or the receive is complete.
bool PublishedReceive::revoke() noexcept {
  if (slot_.step(word(PublishedState::published), PublishedState::revoked)) return true;
  return slot_.word.load(std::memory_order_acquire) == word(PublishedState::revoked).bits();
}

// With the lock: a call of another thread that counts a receive publishes it before, or not at all.
template <class Fn>
std::vector<PublishedReceivePtr> PublishedReceive::revoke_if(const Fn& is_one) noexcept {
  std::vector<PublishedReceivePtr> left;
  const CallLock lock(published().mutex);
  for (PublishedReceive* const published_receive : published().by_slot) {
    if (published_receive == nullptr || !is_one(*published_receive)) continue;
    if (published_receive->is_ended() || published_receive->revoke() || published_receive->is_ended()) continue;
    if (PublishedReceivePtr alive = published_receive->weak_from_this().lock()) left.push_back(std::move(alive));
  }
  return left;
}

void PublishedReceive::revoke_in(std::uint64_t allocation) noexcept {
  revoke_if(
      [&](const PublishedReceive& published_receive) { return published_receive.end.place.first.id == allocation; });
}

bool PublishedReceive::revoke_from(const QueuePlace& receive) noexcept {
  const auto is_behind = [&](const PublishedReceive& published_receive) {
    const QueuePlace& its = published_receive.posted_;
    return its.comm == receive.comm && its.received == receive.received && its.order >= receive.order;
  };
  return revoke_if(is_behind).empty();
}

std::vector<PublishedReceivePtr> PublishedReceive::revoke_all() noexcept {
  return revoke_if([](const PublishedReceive&) { return true; });
}

bool PublishedReceive::is_open() const {
  const std::uint64_t now = slot_.word.load(std::memory_order_acquire);
  return now == word(PublishedState::published).bits() || now == word(PublishedState::claimed).bits();
}

bool PublishedReceive::unpack_arrived() noexcept try {
  if (slot_.is_bounced.load(std::memory_order_relaxed) != 0)
    bounce_buffer->unpack(slot_.bounced.load(std::memory_order_acquire));
  return true;
} catch (...) {
  warn_fallback("a bounce buffer is unpacked only when the whole message has arrived", caught_error().what());
  return false;
}

// A sender that has claimed it decides first: the buffer is not the program's before. Its FIN message may have come
// while its kernel runs.
bool PublishedReceive::end_it(bool has_come) noexcept {
  if (is_ended_.load(std::memory_order_relaxed) || is_ended_.exchange(true) || !is_posted_) return was_written_;
  if (slot_.state() == PublishedState::published) slot_.step(word(PublishedState::published), PublishedState::revoked);
  if (slot_.own != nullptr && slot_.state() == PublishedState::claimed) PendingSends::get().end_early_fins(true);
  if (!wait_for_claim(slot_, has_come, source_)) {
    if (has_come) failure.emplace(ErrorKind::unexpected, "the sender of a message died while its GPU wrote it");
    return false;
  }
  const PublishedState state = slot_.state();
  was_written_ = state == PublishedState::written;
  is_not_importable_ =
      state == PublishedState::declined && slot_.is_not_importable.load(std::memory_order_relaxed) != 0;
  if (is_not_importable_) NotImportable::own().add(source_, end.place.first.id);
  if (state == PublishedState::lost)
    failure.emplace(ErrorKind::device, "the sender's GPU failed while it wrote a message");
  slot_.step_alone(word(state), PublishedState::vacant);
  return was_written_;
}

bool PublishedReceive::may_be_kept() {
  return !bounce_buffer && !is_not_importable_ && slot_.state() == PublishedState::vacant &&
         OwnSegment::own().may_keep(slot_);
}

void PublishedReceive::renew(const Matcher::Place& place) {
  const CallLock lock(published().mutex);
  published().by_slot[slot_number()] = nullptr;
  match_queue_ = place.match_queue;
  source_ = place.source;
  n_ = place.n;
  posted_ = place.queue_place;
  is_posted_ = was_written_ = false;
  failure.reset();
  is_ended_.store(false, std::memory_order_release);
}

PublishedReceive::~PublishedReceive() {
  {
    const CallLock lock(published().mutex);
    published().by_slot[slot_number()] = nullptr;
  }
  end_it(false);
  slot_.own = nullptr;
  if (slot_.state() == PublishedState::vacant) OwnSegment::own().give_back(slot_);
  else static_cast<void>(bounce_buffer.release());  // its sender has died with it, or may still be writing there
}

ClaimedMatch find_match(const SequencedSend& sequenced, bool is_next) noexcept {
  Segment& there = *sequenced.receiver;
  std::uint64_t n = sequenced.n;
  const bool is_known = sequenced.known_match_queue != nullptr && sequenced.known_match_queue->key() == sequenced.key;
  const MatchQueue* match_queue = is_known ? sequenced.known_match_queue : there.find(sequenced.key);
  if (match_queue == nullptr) {
    match_queue = there.find({sequenced.key.comm, sequenced.key.source, ipc::kAllTags});
    if (match_queue != nullptr && !is_next) return {MatchResult::unmatched};
    n = sequenced.n_of_all_tags;
  }
  // Both numbers are read between two looks at the communicator: a match queue that is used again counts on.
  if (match_queue != nullptr) n += match_queue->base.load();
  const std::uint64_t n_posted = match_queue != nullptr ? match_queue->n_posted.load(std::memory_order_acquire) : 0;
  if (match_queue != nullptr && match_queue->comm.load() != sequenced.key.comm) match_queue = nullptr;  // used again
  if (match_queue == nullptr || n_posted < n) {
    const bool may_be_published =
        (match_queue != nullptr || there.has_room()) && !there.is_closed(sequenced.key.comm, sequenced.key.tag);
    return {!sequenced.is_own && may_be_published ? MatchResult::unmatched : MatchResult::nothing};
  }
  Slot& slot = there.slots[match_queue->slots[n % ipc::kWindow].load(std::memory_order_acquire) % ipc::kSlots];
  const PublishedWord published{n, there.number_of(*match_queue), PublishedState::published};
  if (!slot.step(published, PublishedState::claimed)) return {MatchResult::nothing};
  return {MatchResult::claimed, {&slot, published.in(PublishedState::claimed)}};
}

}  // namespace tempi::message
