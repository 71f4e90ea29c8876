#include "collective/ballot.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/mutex.hpp"
#include "collective/blocks.hpp"
#include "mailbox/course.hpp"
#include "message/engine.hpp"
#include "message/meetings.hpp"
#include "mpi/progress.hpp"
#include "peer/peer.hpp"

namespace tempi::collective {
namespace {

using mailbox::Consent;
using mailbox::Contents;
using mailbox::Course;
using mailbox::Mailbox;
using mailbox::Poll;
using Clock = std::chrono::steady_clock;

constexpr int kSpins = 200;  // looks between two calls of the library

mailbox::Answer answer(std::uint64_t comm, std::uint64_t attempt, Consent consent) {
  return {comm, attempt, static_cast<std::uint8_t>(consent)};
}

// Looks until is_done(), or until the end of time. The library and our sends go on meanwhile: other members may depend
// on them. False: the time is over.
template <class Fn>
bool wait_until(Clock::time_point end, const Fn& is_done) {
  for (int i = 0; i < kSpins; ++i) {
    if (is_done()) return true;
  }
  for (;; std::this_thread::yield()) {
    if (is_done()) return true;
    if (Clock::now() > end) return false;
    message::Engine::progress();
    if (const int code = let_library_go_on(); code != MPI_SUCCESS) throw Refused{code};
  }
}

// Polls of communicators that have ended; other members may not have read their last votes.
class Retired {
 public:
  static Retired& get() {
    static auto& retired = *new Retired;  // never destroyed: communicators end while the process exits
    return retired;
  }

  void add(Poll& poll, std::vector<Poll*>&& others) {
    const std::lock_guard lock(mutex_);
    all_.push_back({&poll, std::move(others), poll.comm.load()});
  }
  void give_back_what_is_read() {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const One& one) {
      if (!one.is_read()) return false;
      Mailbox::own().give_back(*one.poll);
      return true;
    });
  }

 private:
  struct One {
    Poll* poll;
    std::vector<Poll*> others;
    std::uint64_t comm;
    bool is_read() const {
      const std::uint64_t n_votes = poll->read.load(), n_settled = poll->settled.load();
      return std::all_of(others.begin(), others.end(), [&](const Poll* other) {
        return other->comm.load() != comm || (other->read.load() >= n_votes && other->settled.load() >= n_settled);
      });
    }
  };

  Mutex<Lock::votes> mutex_;
  std::vector<One> all_;
};

}  // namespace

Ballot::Ballot(Handle comm, std::uint64_t id, int rank, int size)
    : comm_(comm),
      id_(id),
      rank_(static_cast<std::size_t>(rank)),
      members_(static_cast<std::size_t>(size)),
      polls_(members_.size()) {
  Retired::get().give_back_what_is_read();
  own_ = Mailbox::own().take_poll(id);
  members_[rank_] = &Mailbox::own().contents();
  polls_[rank_] = own_;
}

// Whoever still looks for the consent of a member that has not agreed finds no poll of the communicator, and gives up.
Ballot::~Ballot() {
  if (own_ == nullptr) return;
  if (is_agreed_) Retired::get().add(*own_, std::move(polls_));
  else Mailbox::own().give_back(*own_);
}

bool Ballot::finds_members() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] != nullptr) continue;
    const int in_world = peer::rank_in_world(comm_, static_cast<int>(i));
    if (in_world < 0 || !peer::is_on_this_node(in_world)) return false;
    members_[i] = mailbox::find_neighbour(message::own_job(), in_world);
    if (members_[i] == nullptr) return false;
  }
  return true;
}

// Null: there is none (yet).
Poll* Ballot::poll_of(std::size_t member) {
  Poll*& poll = polls_[member];
  if (poll == nullptr || poll->comm.load(std::memory_order_acquire) != id_) poll = members_[member]->find_poll(id_);
  return poll;
}

// True: the member has written an answer of the attempt, or will not.
bool Ballot::has_answered(std::size_t member, std::uint64_t attempt, Word word) {
  const bool is_full = members_[member]->polls_are_full.load(std::memory_order_acquire) != 0;
  const Poll* const poll = poll_of(member);
  if (poll == nullptr) return is_full;
  return mailbox::Answer{id_, attempt, 0}.is_reached_by((poll->*word).load(std::memory_order_acquire));
}

bool Ballot::agrees(std::uint64_t attempt, bool is_willing, std::chrono::milliseconds lasts) {
  is_agreed_ = own_ != nullptr && is_willing && finds_members();
  if (own_ == nullptr || members_.size() == 1) return is_agreed_;
  const Consent consent = is_agreed_ ? Consent::given : Consent::refused;
  own_->consent.store(answer(id_, attempt, consent).bits(), std::memory_order_release);
  if (rank_ == 0) is_agreed_ = decide(attempt, is_agreed_, lasts);
  else is_agreed_ = is_agreed_ && await_decision(attempt, lasts);
  return is_agreed_;
}

// Waits for the member's consent, and accepts it.
bool Ballot::has_consented(std::size_t member, std::uint64_t attempt, std::chrono::milliseconds lasts) {
  wait_until(Clock::now() + lasts, [&] { return has_answered(member, attempt, &Poll::consent); });
  Poll* const poll = poll_of(member);
  if (poll == nullptr) return false;
  std::uint64_t given = answer(id_, attempt, Consent::given).bits();
  return poll->consent.compare_exchange_strong(given, answer(id_, attempt, Consent::accepted).bits());
}

bool Ballot::decide(std::uint64_t attempt, bool is_agreed, std::chrono::milliseconds lasts) {
  for (std::size_t i = 1; i < members_.size() && is_agreed; ++i) is_agreed = has_consented(i, attempt, lasts);
  own_->decision.store(mailbox::Answer{id_, attempt, std::uint8_t{is_agreed}}.bits(), std::memory_order_release);
  return is_agreed;
}

bool Ballot::await_decision(std::uint64_t attempt, std::chrono::milliseconds lasts) {
  const auto is_decided = [&] { return has_answered(0, attempt, &Poll::decision); };
  wait_until(Clock::now() + lasts, is_decided);
  std::uint64_t given = answer(id_, attempt, Consent::given).bits();
  if (own_->consent.compare_exchange_strong(given, answer(id_, attempt, Consent::taken_back).bits())) return false;
  // It has decided "no" if it has ended the communicator meanwhile: after "yes" it waits for all members.
  wait_until(Clock::time_point::max(), [&] { return poll_of(0) == nullptr || is_decided(); });
  const Poll* const first = poll_of(0);
  if (first == nullptr || first->decision.load() != mailbox::Answer{id_, attempt, 1}.bits()) return false;
  return wait_until(Clock::time_point::max(), [&] {
    for (std::size_t i = 0; i < polls_.size(); ++i) {
      if (poll_of(i) == nullptr) return false;
    }
    return true;
  });
}

unsigned Ballot::joined(unsigned own) {
  const std::uint64_t n = ++n_votes_;
  unsigned all = own;
  own_->votes.store(n << 8 | std::uint64_t{own} << 4 | (own_->votes.load() >> 4 & 0xF), std::memory_order_release);
  for (const Poll* const poll : polls_) {
    std::uint64_t votes = 0;
    wait_until(Clock::time_point::max(), [&] {
      votes = poll->votes.load(std::memory_order_acquire);
      return votes >> 8 >= n;
    });
    all |= static_cast<unsigned>(votes >> (votes >> 8 == n ? 4 : 0)) & 0xF;
  }
  own_->read.store(n, std::memory_order_release);
  return all;
}

bool Ballot::way_of_next(std::size_t function, unsigned own, FunctionRef<bool(unsigned)> wants) {
  const std::uint64_t n = ++n_begun_[function];
  own_->begun[function].store(n << 4 | own, std::memory_order_release);
  std::atomic<std::uint64_t>& shared = polls_.front()->courses[function];
  std::uint64_t bits = shared.load(std::memory_order_acquire);
  for (Course course = Course::of(bits); !course.has(n); course = Course::of(bits)) {
    unsigned all = 0;
    std::uint64_t slowest = n;
    for (const Poll* const poll : polls_) {
      const std::uint64_t begun = poll->begun[function].load(std::memory_order_acquire);
      all |= static_cast<unsigned>(begun & 0xF);
      slowest = std::min(slowest, begun >> 4);
    }
    const std::uint64_t next = course.extended(n, wants(all), slowest).bits();
    if (shared.compare_exchange_strong(bits, next)) bits = next;
  }
  own_->settled.store(++n_settled_, std::memory_order_release);
  return Course::of(bits).at(n);
}

}  // namespace tempi::collective
