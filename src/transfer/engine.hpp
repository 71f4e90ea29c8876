// The request engine: which requests are managed, and which sends are pending.
//
// Sends start in the order of the program's calls. The pending sends form a queue. A call that must send past the queue
// first finishes the queue. A message starts in its own call if the queue is empty and its packing is complete or
// short. Other messages remain pending until the next call of the program, or a thread, starts them
// (transfer/progress_mode.hpp). Unmatched sends are outside of the queue (transfer/unmatched_sends.hpp).
//
// When a call waits for the kernel of a direct message, it sends an early FIN: it sends the FIN message while the
// kernel runs, and the send ends after both. If the receiver is another process, the call then immediately waits for
// the kernel, because the receiver may be waiting for it, and the library does not query the kernels of TEMPI.
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
#include "request/message_table.hpp"
#include "transfer/collective_work.hpp"
#include "transfer/launch_batch.hpp"
#include "transfer/unmatched_sends.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

struct Completed;

class Engine {
  using Clock = std::chrono::steady_clock;

 public:
  static Engine& get();

  // ---- pending sends

  // Starts the managed message, or queues its packing and, behind all earlier ones, its start. Never waits for the
  // completion of another message.
  void post(Message& message);

  // While it lives, posted sends wait for each other: their packs share launches. At its end they start, if packing
  // them is soon done.
  class SharedLaunch {
   public:
    SharedLaunch() { get().hold(); }
    ~SharedLaunch() { get().release(); }
    SharedLaunch(const SharedLaunch&) = delete;
    SharedLaunch& operator=(const SharedLaunch&) = delete;
  };

  // Finishes all packing and starts all pending sends; unmatched ones wait for their receives, until the match
  // timeout. Every call that may block does this first, but MPI_Wait and MPI_Waitall: flush_to_early_fins().
  static void flush() noexcept {
    flush_to_early_fins();
    end_early_fins();
  }
  // The same, but kernels that write into this process, behind their FIN messages, may run on until end_early_fins().
  static void flush_to_early_fins() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_pending(true);
    progress_others();
  }
  // The same in a call that ends only with all of these requests.
  static void flush_needed(int count, const void* requests) noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().note_needed(count, requests);
    flush_to_early_fins();
  }
  static void end_early_fins() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().end_early_fins(true);
  }
  // The same for a thread behind which another one may have sent an early FIN (`n_work_` may not tell yet).
  void settle_early_fins() noexcept { end_early_fins(true); }
  // Starts the pending sends whose packing is done, and ends the early-FIN ones whose kernels are.
  static void progress() noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_pending(false);
    progress_others();
  }
  // Before a library send to this peer: packs its unmatched sends, and starts all pending ones. Unmatched sends to
  // other peers stay.
  static void go_before(Handle comm, int peer) noexcept {
    if (n_work_.load(std::memory_order_acquire) != 0) get().start_before(comm, peer);
  }
  // After a call of the library: a receive that the program has freed may have arrived.
  static int tended(int code) noexcept {
    progress();
    return code;
  }
  // As flush_to_early_fins(), also while another thread is still queueing its message (`n_work_` may not tell yet).
  void settle() noexcept;
  // True: such a receive is complete. Empty: none is managed.
  std::optional<bool> has_arrived(FunctionRef<bool(const Transfer&)> is_it) noexcept;
  // For the progress thread: starts the pending sends whose packing is done, unless another thread is in the engine.
  enum class Look : std::uint8_t { by_others, in_vain, useful };
  Look look_after_pending() noexcept;
  bool has_pending() noexcept;
  // It changes with each call that starts pending sends.
  static std::uint64_t n_calls() { return n_calls_.load(std::memory_order_relaxed); }
  // In a forked child: forgets the messages, because they belong to the parent.
  static void forget_all() noexcept;
  // Takes the pending send of this request out of the queue: it will never start. False where there is none, or it has
  // started. Other threads may be looking at the request.
  bool withdraw(Handle request) noexcept;

  // No launch batch is open, no send pending, and no request managed or freed. A call of another thread that completes
  // requests holds their messages: they are not counted then.
  static bool is_idle() noexcept { return n_work_.load(std::memory_order_acquire) == 0 && !manages_any(); }

  // ---- managed requests

  static bool manages_any() { return n_managed_.load(std::memory_order_relaxed) != 0; }
  void manage(MessagePtr message);
  // The same for a call that may be complete at once: libraries share one request among such calls. False: the request
  // is managed already, so this call was complete at once, and is not managed.
  bool manages_first(const MessagePtr& message);
  // The message of a request, or null. A call that completes a request takes it out, and puts it back when it is not
  // complete.
  MessagePtr find(Handle request) noexcept;
  MessagePtr take(Handle request) noexcept;
  // The messages of an array of requests, null for unmanaged ones; empty if none is managed.
  std::vector<MessagePtr> take(int count, const void* requests);
  std::vector<Message*> find(int count, const void* requests);  // they last while a Starting does
  void put_back(std::vector<MessagePtr>& messages);
  // Messages that a call has completed: those whose requests stay are managed again.
  void put_back_persistent(std::vector<Completed>& done);

  // Messages that an error handler of the program frees live at least as long: a call may be starting them.
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
  // Completes freed requests that are done; at finalize waits for the sends among them.
  void tend_orphans(bool at_finalize) noexcept;

 private:
  static void progress_others() noexcept {
    progress_transport();
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

  // Pending and early-FIN sends, freed requests and an open launch batch; managed requests. Most calls look at nothing
  // else. Counted when a message has been started, not before: another thread's send may not pass a start that is under
  // way.
  inline static std::atomic<std::size_t> n_work_{0}, n_managed_{0};
  inline static std::atomic<std::uint64_t> n_calls_{0};
  RecursiveMutex<Lock::engine> mutex_;
  std::deque<MessagePtr> pending_;  // but the unmatched ones
  std::deque<MessagePtr> early_fins_;
  UnmatchedSends unmatched_;
  std::vector<Message*> not_launched_;  // of the pending ones
  std::int64_t not_launched_bytes_ = 0;
  bool only_direct_ = true;      // of those
  device::MarkPtr launched_{};   // the end of the last launch
  int n_shared_launches_ = 0;    // objects of SharedLaunch
  std::int64_t held_bytes_ = 0;  // posted under them
  LaunchBatch launch_batch_;     // of sends posted since a call has last started pending ones
  MessageTable managed_;
  std::vector<MessagePtr> orphans_;
  int n_starting_ = 0;             // objects of Starting
  std::vector<MessagePtr> freed_;  // while there are some
};

}  // namespace tempi::message
