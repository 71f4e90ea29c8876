// The request engine: which requests are managed, and which sends are pending.
//
// Sends start in the order of the program's calls. The pending sends form a queue. Before the library itself sends a
// message, all pending sends start. A message starts in its own call if the queue is empty and its packing is complete
// or short. Other messages remain pending until the next call of the program, or a thread, starts them
// (request/progress_mode.hpp). Unmatched sends are outside of the queue (request/unmatched_sends.hpp).
//
// When a call waits for the kernel of a direct message, it sends an early FIN: it sends the FIN message while the
// kernel runs. The send is complete when the kernel has ended and the FIN message is sent. If the receiver is another
// process, the call then waits for the kernel at once: the receiver may be waiting for it, and nobody would report the
// end of the kernel while this thread is in the library.
//
// A recursive lock guards all state (base/call_lock.hpp). It is recursive, because the library can call error handlers
// of the program while it starts requests of TEMPI, and these handlers may call MPI.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

#include "base/function_ref.hpp"
#include "base/mutex.hpp"
#include "request/collective_work.hpp"
#include "request/launch_batch.hpp"
#include "request/message_table.hpp"
#include "request/unmatched_sends.hpp"
#include "transport/transports.hpp"

namespace tempi::message {

struct Completed;

class Engine {
  using Clock = std::chrono::steady_clock;

 public:
  static Engine& get();

  // ---- pending sends

  // Starts the message, or queues its packing and makes it pending, behind all earlier pending sends. Never waits for
  // the completion of another message.
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

  // Finishes all packing and starts all pending sends. Unmatched sends wait for their receives, until the match
  // timeout. Every call that may block calls flush() first. MPI_Wait and MPI_Waitall call flush_to_early_fins()
  // instead.
  static void flush() noexcept {
    flush_to_early_fins();
    end_early_fins();
  }
  // The same, but kernels whose early FIN was sent to this process itself may run on until end_early_fins().
  static void flush_to_early_fins() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_pending(true);
    progress_others();
  }
  // The same in a call that returns only when all of these requests are complete.
  static void flush_needed(int count, const void* requests) noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().note_needed(count, requests);
    flush_to_early_fins();
  }
  static void end_early_fins() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().end_early_fins(true);
  }
  // The same if another thread may have sent an early FIN just now, so that `n_work_` does not count it yet.
  void settle_early_fins() noexcept { end_early_fins(true); }
  // Starts the pending sends whose packing is complete, and ends the sends with an early FIN whose kernels are
  // complete.
  static void progress() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_pending(false);
    progress_others();
  }
  // Before the library itself sends a message to this peer: packs the unmatched sends to this peer, and starts all
  // pending sends. Unmatched sends to other peers stay unmatched.
  static void go_before(Handle comm, int peer) noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_before(comm, peer);
  }
  // After a call of the library: completes receives whose requests the program has freed and whose messages have
  // arrived.
  static int tended(int code) noexcept {
    progress();
    return code;
  }
  // As flush_to_early_fins(), also if another thread is queueing a message just now, so that `n_work_` does not count
  // it.
  void settle() noexcept;
  // True: a managed receive for which is_it() is true is complete. Empty: there is no such receive.
  std::optional<bool> has_arrived(FunctionRef<bool(const Transfer&)> is_it) noexcept;
  // For the progress thread: starts the pending sends whose packing is complete, unless another thread is in the
  // engine.
  enum class Look : std::uint8_t { by_others, in_vain, useful };
  Look look_after_pending() noexcept;
  bool has_pending() noexcept;
  // It changes with each call that starts pending sends.
  static std::uint64_t n_calls() { return n_calls_.load(std::memory_order_relaxed); }
  // In a forked child: forgets the messages, because they belong to the parent.
  static void forget_all() noexcept;
  // Removes the pending send of this request from the queue, so that it never starts. False: there is no such send, or
  // it has started. Other threads may query the request meanwhile.
  bool withdraw(Handle request) noexcept;

  // True: no launch batch is open, no send is pending, and no request is managed or freed. Messages that a call of
  // another thread is completing at this time are not counted.
  static bool is_idle() noexcept { return n_work_.load(std::memory_order_acquire) == 0 && !manages_any(); }

  // ---- managed requests

  static bool manages_any() { return n_managed_.load(std::memory_order_relaxed) != 0; }
  void manage(MessagePtr message);
  // The same for a call that may be complete at once: the library gives the same request to all such calls. False: the
  // request is already managed. This call was complete at once, and its message is not managed.
  bool manages_first(const MessagePtr& message);
  // The message of a request, or null. A call that completes requests takes their messages out, and puts the messages
  // that are not complete back.
  MessagePtr find(Handle request) noexcept;
  MessagePtr take(Handle request) noexcept;
  // The messages of an array of requests, null for unmanaged ones; empty if none is managed.
  std::vector<MessagePtr> take(int count, const void* requests);
  std::vector<Message*> find(int count, const void* requests);  // valid while an object of Starting exists
  void put_back(std::vector<MessagePtr>& messages);
  // For messages that a call has completed: persistent ones, whose requests remain, are managed again.
  void put_back_persistent(std::vector<Completed>& done);

  // While it lives, no message is destroyed whose request an error handler of the program frees, because a call may be
  // starting this message.
  class Starting {
   public:
    Starting() { get().begin_starting(); }
    ~Starting() { get().end_starting(); }
    Starting(const Starting&) = delete;
    Starting& operator=(const Starting&) = delete;
  };
  // The program has freed its request, which is not started.
  void leave(MessagePtr&& freed) noexcept;

  // A request that the program has freed: kept until it is complete.
  void adopt(const MessagePtr& message) noexcept;
  // Completes the freed requests whose messages are complete. `at_finalize`: waits for the sends among them.
  void tend_orphans(bool at_finalize) noexcept;

 private:
  static void progress_others() noexcept {
    progress_transports();
    if (const CollectiveWork* const work = collective_work.load(std::memory_order_acquire)) work->go_on();
  }
  void begin_starting() noexcept;
  void end_starting() noexcept;
  void hold() noexcept;
  void release() noexcept;
  void start_before(Handle comm, int peer) noexcept;
  void leave_unmatched(Message& message);
  void pack_unmatched(Handle comm, int peer) noexcept;
  void match_unmatched(bool waits) noexcept;
  bool is_launched_running() const noexcept;
  void join(const std::vector<MessagePtr>& messages) noexcept;
  void start_or_leave(bool starts_now) noexcept;
  void queue(Message& message);
  bool starts_in_its_call(const Message& message) const noexcept;
  void note_needed(int count, const void* requests) noexcept;
  void start_pending(bool waits) noexcept;
  bool start_what_can_be(bool waits) noexcept;
  void start_packed(bool waits) noexcept;
  void launch() noexcept;
  void count_work() noexcept;
  // Not exact if several threads make calls at the same time.
  static void count_call() noexcept { n_calls_.store(n_calls() + 1, std::memory_order_relaxed); }
  void count_managed() noexcept { n_managed_.store(managed_.size(), std::memory_order_relaxed); }
  void start(Message& message) noexcept;
  void deliver(Message& message) noexcept;
  void send_first_early_fins() noexcept;
  void send_early_fin(MessagePtr message) noexcept;
  void end_early_fins(bool waits) noexcept;
  void end_early_fins_to_others() noexcept;
  void end_order(Message& failed) noexcept;

  // n_work_: pending sends, sends with an early FIN, freed requests, and the open launch batch. n_managed_: managed
  // requests. Most calls read only these numbers. A pending send is counted until its start is complete, so that the
  // send of another thread does not pass it.
  inline static std::atomic<std::size_t> n_work_{0}, n_managed_{0};
  inline static std::atomic<std::uint64_t> n_calls_{0};
  RecursiveMutex<Lock::engine> mutex_;
  std::deque<MessagePtr> pending_;  // without the unmatched sends
  std::deque<MessagePtr> early_fins_;
  UnmatchedSends unmatched_;
  std::vector<Message*> not_launched_;  // pending sends whose packing is not launched yet
  std::int64_t not_launched_bytes_ = 0;
  bool only_direct_ = true;      // all of not_launched_ are puts
  device::MarkPtr launched_{};   // the end of the last launch
  int n_shared_launches_ = 0;    // objects of SharedLaunch
  std::int64_t held_bytes_ = 0;  // posted while they exist
  LaunchBatch launch_batch_;     // the sends that were posted since a call last started pending sends
  MessageTable managed_;
  std::vector<MessagePtr> orphans_;
  int n_starting_ = 0;             // objects of Starting
  std::vector<MessagePtr> freed_;  // messages that are kept while n_starting_ > 0
};

}  // namespace tempi::message
