#include "message/offers.hpp"

#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "message/engine.hpp"
#include "message/out_of_reach.hpp"
#include "mpi/progress.hpp"

namespace tempi::message {
namespace {

using mailbox::Contents;
using mailbox::Line;
using mailbox::Mailbox;
using mailbox::OfferWord;
using mailbox::Slot;

struct Published {
  Mutex<Lock::offers> mutex;
  std::array<Offer*, mailbox::kSlots> by_slot{};
};

Published& published() {
  static auto& offers = *new Published;  // never destroyed: offers end while the process exits
  return offers;
}

using Clock = std::chrono::steady_clock;

// Of a receive that is complete by an error: its sender may have died.
constexpr std::chrono::milliseconds kClaimLasts{5000};
constexpr std::chrono::milliseconds kBetweenLooks{10};  // at whether the sender lives

// False: it stays claimed. `source`: the sender's rank in MPI_COMM_WORLD.
bool wait_for_claim(const Slot& slot, bool has_come, int source) {
  const auto is_claimed = [&] { return slot.state() == OfferState::claimed; };
  if (!is_claimed()) return true;
  const bool is_remote = has_come && slot.own == nullptr;
  const auto patience = has_come ? kBetweenLooks : kClaimLasts;
  for (auto end = Clock::now() + patience; is_claimed(); std::this_thread::yield()) {
    if (is_remote) let_library_go_on();  // the sender may still be sending other markers
    if (Clock::now() < end) continue;
    if (!has_come || (is_remote && !mailbox::is_alive(own_job(), source))) return !is_claimed();
    end = Clock::now() + patience;
  }
  return true;
}

}  // namespace

std::uint16_t Offer::slot_number() const {
  return static_cast<std::uint16_t>(&slot_ - Mailbox::own().contents().slots.data());
}

OfferWord Offer::word(OfferState state) const { return {n_, Mailbox::own().contents().number_of(*line_), state}; }

// With the lock: a cancellation closes the receives first, and finds all that were published before.
bool Offer::post() noexcept {
  const CallLock lock(published().mutex);
  if (!counted_by->offers()) return false;
  published().by_slot[slot_number()] = this;
  publish();
  return true;
}

void Offer::publish() noexcept {
  is_posted_ = true;
  slot_.word.store(word(OfferState::offered).bits(), std::memory_order_release);
  line_->slots[n_ % mailbox::kWindow].store(slot_number(), std::memory_order_release);
  line_->post(n_);
}

// False: it is claimed, or was; or the receive is complete.
bool Offer::revoke() noexcept {
  if (slot_.step(word(OfferState::offered), OfferState::revoked)) return true;
  return slot_.word.load(std::memory_order_acquire) == word(OfferState::revoked).bits();
}

// With the lock: a call of another thread that counts a receive publishes its offer before, or not at all.
template <class Fn>
std::vector<OfferPtr> Offer::revoke_if(const Fn& is_one) noexcept {
  std::vector<OfferPtr> left;
  const CallLock lock(published().mutex);
  for (Offer* const offer : published().by_slot) {
    if (offer == nullptr || !is_one(*offer)) continue;
    if (offer->is_ended() || offer->revoke() || offer->is_ended()) continue;
    if (OfferPtr alive = offer->weak_from_this().lock()) left.push_back(std::move(alive));
  }
  return left;
}

void Offer::revoke_in(std::uint64_t allocation) noexcept {
  revoke_if([&](const Offer& offer) { return offer.end.place.first.id == allocation; });
}

bool Offer::revoke_from(const Posted& receive) noexcept {
  const auto is_behind = [&](const Offer& offer) {
    const Posted& its = offer.posted_;
    return its.comm == receive.comm && its.line == receive.line && its.order >= receive.order;
  };
  return revoke_if(is_behind).empty();
}

std::vector<OfferPtr> Offer::revoke_all() noexcept {
  return revoke_if([](const Offer&) { return true; });
}

bool Offer::is_open() const {
  const std::uint64_t now = slot_.word.load(std::memory_order_acquire);
  return now == word(OfferState::offered).bits() || now == word(OfferState::claimed).bits();
}

bool Offer::unpack_arrived() noexcept try {
  if (slot_.is_landed.load(std::memory_order_relaxed) != 0)
    landing->unpack(slot_.landed.load(std::memory_order_acquire));
  return true;
} catch (...) {
  warn_fallback("a bounce buffer is unpacked only when the whole message has arrived", caught_error().what());
  return false;
}

// A sender that has claimed it decides first: the buffer is not the program's before. Its marker may have come while
// its kernel runs.
bool Offer::end_it(bool has_come) noexcept {
  if (is_ended_.load(std::memory_order_relaxed) || is_ended_.exchange(true) || !is_posted_) return was_written_;
  if (slot_.state() == OfferState::offered) slot_.step(word(OfferState::offered), OfferState::revoked);
  if (slot_.own != nullptr && slot_.state() == OfferState::claimed) Engine::get().settle_announced();
  if (!wait_for_claim(slot_, has_come, source_)) {
    if (has_come) failure.emplace(ErrorKind::unexpected, "the sender of a message died while its GPU wrote it");
    return false;
  }
  const OfferState state = slot_.state();
  was_written_ = state == OfferState::written;
  is_out_of_reach_ = state == OfferState::declined && slot_.is_out_of_reach.load(std::memory_order_relaxed) != 0;
  if (is_out_of_reach_) OutOfReach::own().add(source_, end.place.first.id);
  if (state == OfferState::lost) failure.emplace(ErrorKind::device, "the sender's GPU failed while it wrote a message");
  slot_.step_alone(word(state), OfferState::vacant);
  return was_written_;
}

bool Offer::may_be_kept() {
  return !landing && !is_out_of_reach_ && slot_.state() == OfferState::vacant && Mailbox::own().may_keep(slot_);
}

void Offer::renew(const Meetings::Place& place) {
  const CallLock lock(published().mutex);
  published().by_slot[slot_number()] = nullptr;
  line_ = place.line;
  source_ = place.source;
  n_ = place.n;
  posted_ = place.posted;
  is_posted_ = was_written_ = false;
  failure.reset();
  is_ended_.store(false, std::memory_order_release);
}

Offer::~Offer() {
  {
    const CallLock lock(published().mutex);
    published().by_slot[slot_number()] = nullptr;
  }
  end_it(false);
  slot_.own = nullptr;
  if (slot_.state() == OfferState::vacant) Mailbox::own().give_back(slot_);
  else static_cast<void>(landing.release());  // its sender has died with it, or may still be writing there
}

Meeting meet(const Turn& turn, bool is_next) noexcept {
  Contents& there = *turn.receiver;
  std::uint64_t n = turn.n;
  const bool is_known = turn.known_line != nullptr && turn.known_line->key() == turn.key;
  const Line* line = is_known ? turn.known_line : there.find(turn.key);
  if (line == nullptr) {
    line = there.find({turn.key.comm, turn.key.source, mailbox::kAllTags});
    if (line != nullptr && !is_next) return {Met::early};
    n = turn.n_of_all_tags;
  }
  // Both numbers are read between two looks at the communicator: a line that is used again counts on.
  if (line != nullptr) n += line->base.load();
  const std::uint64_t n_posted = line != nullptr ? line->n_posted.load(std::memory_order_acquire) : 0;
  if (line != nullptr && line->comm.load() != turn.key.comm) line = nullptr;  // used again
  if (line == nullptr || n_posted < n) {
    const bool may_be_offered = (line != nullptr || there.has_room()) && !there.is_closed(turn.key.comm, turn.key.tag);
    return {!turn.is_own && may_be_offered ? Met::early : Met::nothing};
  }
  Slot& slot = there.slots[line->slots[n % mailbox::kWindow].load(std::memory_order_acquire) % mailbox::kSlots];
  const OfferWord offered{n, there.number_of(*line), OfferState::offered};
  if (!slot.step(offered, OfferState::claimed)) return {Met::nothing};
  return {Met::claimed, {&slot, offered.in(OfferState::claimed)}};
}

}  // namespace tempi::message
