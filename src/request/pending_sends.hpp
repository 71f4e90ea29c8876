// The pending sends of this process: nonblocking and blocking sends that TEMPI has not started yet.
//
// Sends start in the order of the program's calls. The pending sends form a queue. Before the library itself sends a
// message, all pending sends start. A message starts in its own call if the queue is empty and its packing is complete
// or short. Other messages remain pending until the next call of the program, or a thread, starts them
// (request/progress_mode.hpp). Three objects help: unmatched sends are outside of the queue (unmatched_sends.hpp),
// packing is launched together (send_launches.hpp), and direct messages end with FIN messages (fin.hpp).
//
//     post ─┬─ leave_unmatched ▶ unmatched_    direct, its receive is not found (UnmatchedSends)
//           │                       │ join     it has a put, or it will be packed
//           └─────────────────▶ pending_       in order; launches_ has those not launched yet
//                                   ├─ start ────▶ started       packed: the library sends it
//                                   ├─ start ────▶ delivered     a put: written, FIN message sent
//                                   ├─ send_first_early_fins ▶ early_fins_    its kernel runs
//                                   │                              └─ end ▶ delivered | failed
//                                   ├─ withdraw ─▶ withdrawn
//                                   └─ fail ─────▶ failed
//
// A packed send starts in `post`, without the queue, if no earlier send is pending.
// request/states.def has the states.
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "request/fin.hpp"
#include "request/request_lock.hpp"
#include "request/send_launches.hpp"
#include "request/unmatched_sends.hpp"

namespace tempi::message {

// progress.hpp has the functions that MPI calls use. It describes start_before, note_needed and end_early_fins.
class PendingSends {
 public:
  static PendingSends& get();

  // A send is pending, has an early FIN, or is in the open launch batch.
  static bool any() { return n_work_.load(std::memory_order_acquire) != 0; }
  // It changes with each call that starts pending sends.
  static std::uint64_t n_calls() { return n_calls_.load(std::memory_order_relaxed); }
  // In a forked child: forgets the messages, because they belong to the parent.
  static void forget_all() noexcept { n_work_.store(0); }

  // Starts the message, or queues its packing and makes it pending, behind all earlier pending sends. Never waits for
  // the completion of another message. The message is managed.
  void post(Message& message);

  // While it lives, posted sends only queue, so that they share launches. At its end they are launched, and start if
  // their packing is short.
  class SharedLaunch {
   public:
    SharedLaunch() { get().hold(); }
    ~SharedLaunch() { get().release(); }
    SharedLaunch(const SharedLaunch&) = delete;
    SharedLaunch& operator=(const SharedLaunch&) = delete;
  };

  // Starts the sends whose packing is complete. With `waits` it starts all sends, after it has
  // waited for their packing or their match timeout. Completes freed requests.
  void start_pending(bool waits) noexcept;
  // The same with `waits`. Also correct while another thread queues a message that any() does not count yet.
  void settle() noexcept { start_pending(true); }
  void start_before(Handle comm, int peer) noexcept;
  void note_needed(int count, const void* requests) noexcept;
  void end_early_fins(bool waits) noexcept;

  // For the progress thread: starts the pending sends whose packing is complete, unless another thread has the lock.
  enum class Look : std::uint8_t { by_others, in_vain, useful };
  Look look_after_pending() noexcept;
  bool has_pending() noexcept;

  // Removes the pending send of this request from the queue, so that it never starts. A put is too late to remove: it
  // is started, and the result is also true. False: there is no such send, or it has started. Other threads may query
  // the request meanwhile.
  bool withdraw(Handle request) noexcept;

 private:
  void hold() noexcept;
  void release() noexcept;
  void leave_unmatched(const MessagePtr& message);
  void pack_unmatched(Handle comm, int peer) noexcept;
  void match_unmatched(bool waits) noexcept;
  void join(const std::vector<MessagePtr>& messages) noexcept;
  bool starts_in_its_call(const Message& message) const noexcept;
  void start_or_leave(bool starts_now) noexcept;
  bool start_what_can_be(bool waits) noexcept;
  void start_packed(bool waits) noexcept;
  void start(Message& message) noexcept;
  void send_first_early_fins() noexcept;
  void fail(Message& message) noexcept;
  void count_work() noexcept;

  // Most calls read only this number. A pending send is counted until its start is complete, so that the send of
  // another thread does not pass it.
  inline static std::atomic<std::size_t> n_work_{0};
  inline static std::atomic<std::uint64_t> n_calls_{0};
  std::deque<MessagePtr> pending_;  // without the unmatched sends
  UnmatchedSends unmatched_;
  SendLaunches launches_;
  EarlyFins early_fins_;
};

}  // namespace tempi::message
