// Offers: receives of a process from itself into whose buffers the sender of their message may write.
//
// Glossary
//   offer    a posted receive with its buffer
//   meets    MPI matches the n-th message of a process to itself with the n-th receive of its tag: they meet
//   claimed  the send that meets an offer writes into its buffer; its message is an empty marker then
//
// Invariants
//   Every message and every receive of the process from itself on a communicator is noted, in the order of the calls,
//   and before the library sees it; else the meetings are closed: no offer is claimed from then on.
//   Meetings are closed by the first receive with a wildcard, matched probe, cancelled receive, failed call or
//   persistent request of the library's, and by a second thread.
//   An offer can be claimed only after the library has its receive: a receive of another thread may not slip in before.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "pack/transfer.hpp"
#include "peer/peer.hpp"

namespace tempi::message {

enum class OfferState : std::uint8_t {
  unposted,   // the library does not have the receive yet
  offered,    // until it is claimed or withdrawn
  claimed,    // a kernel writes
  written,    // the bytes are in the buffer; the message is the marker
  withdrawn,  // the message comes packed
};

// One for each start of a receive.
struct Offer {
  std::atomic<OfferState> state{OfferState::unposted};
  pack::PreparedPtr prepared{};
  std::int64_t count = 0;
  pack::End end{};  // the program's buffer, which is the receive's until it is complete

  std::int64_t bytes() const { return count * end.layout->size; }
  bool step(OfferState from, OfferState to) { return state.compare_exchange_strong(from, to); }
  bool is_written() const { return state.load(std::memory_order_acquire) == OfferState::written; }
};
using OfferPtr = std::shared_ptr<Offer>;

// The meetings on one communicator. Any thread may ask.
class Meetings : public peer::Attachment {
 public:
  // The receive that the message meets; null: it comes later, or is not offered.
  OfferPtr note_send(int tag);
  void note_receive(int tag, OfferPtr offer);  // null: one that is not offered
  // The library has the receive.
  void post(Offer& offer);
  bool claim(Offer& offer);
  void close();
  bool is_open() const { return !is_closed_.load() && made_at_ == n_closed_.load(); }
  // Those of every communicator that has some now.
  static void close_all() noexcept { ++n_closed_; }

 private:
  struct Line {
    std::deque<OfferPtr> receives;  // that no message has met yet; null for those that are not offered
    std::int64_t n_early = 0;       // messages that no receive has met yet
  };
  bool admits_this_thread();
  void close_locked();

  inline static std::atomic<int> n_closed_{0};  // calls of close_all()

  std::mutex mutex_;
  const int made_at_ = n_closed_.load();
  std::atomic<bool> is_closed_{false};
  std::thread::id user_{};
  std::unordered_map<int, Line> lines_;  // by tag; none of nothing
};

// Null: it cannot be found out when the communicator ends.
Meetings* meetings_on(Handle comm) noexcept;

}  // namespace tempi::message
