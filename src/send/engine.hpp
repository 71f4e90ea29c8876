// The request engine: which requests are managed, and which sends are pending.
//
// Sends start in the order of the program's calls: the pending ones form a queue, and whoever sends past it finishes
// the queue first. A lock that may be taken again by its holder guards all state: error handlers of the program, called
// by the library while it starts our requests, may call MPI.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "send/message_table.hpp"

namespace tempi::send {

class Engine {
 public:
  static Engine& get();

  // ---- pending sends

  // Queues the packing and, behind all earlier ones, the start. Never waits for another message.
  void post(const MessagePtr& message);

  // Finishes all packing and starts all pending sends. Every call that may block does this first.
  static void flush() noexcept {
    if (n_work_.load(std::memory_order_relaxed) != 0) get().start_pending(true);
  }
  // Starts those whose packing is done.
  static void progress() noexcept {
    if (n_work_.load(std::memory_order_relaxed) != 0) get().start_pending(false);
  }
  // After a call of the library: a receive that the program has freed may have arrived.
  static int tended(int code) noexcept {
    progress();
    return code;
  }
  // Takes a pending send out of the queue: it will never start. False when it has started.
  bool withdraw(Message& message) noexcept;

  // ---- managed requests

  static bool manages_any() { return n_managed_.load(std::memory_order_relaxed) != 0; }
  void manage(const MessagePtr& message);
  // The message of a request, or null. Who completes a request takes it out, and puts it back when it is not complete.
  MessagePtr find(Handle request) noexcept;
  MessagePtr take(Handle request) noexcept;
  // Those of an array of requests, null for the rest; none at all where none is managed.
  std::vector<MessagePtr> take(int count, const void* requests);
  void put_back(std::vector<MessagePtr>& messages);

  // A request that the program has freed: kept until it is complete.
  void adopt(const MessagePtr& message) noexcept;
  // Looks after the freed ones; at finalize waits for the sends among them.
  void tend_orphans(bool at_finalize) noexcept;

 private:
  void start_pending(bool waits) noexcept;
  void launch() noexcept;
  void count_work() noexcept;
  void count_managed() noexcept { n_managed_.store(managed_.size(), std::memory_order_relaxed); }
  bool is_packed(Message& message, bool waits) noexcept;
  void start(Message& message) noexcept;

  // Pending sends and freed requests; managed requests. Apart from the rest: most calls look at nothing else.
  inline static std::atomic<std::size_t> n_work_{0}, n_managed_{0};
  std::recursive_mutex mutex_;
  std::deque<MessagePtr> pending_;
  std::vector<MessagePtr> not_launched_;  // of the pending ones
  std::int64_t not_launched_bytes_ = 0;
  MessageTable managed_;
  std::vector<MessagePtr> orphans_;
};

}  // namespace tempi::send
