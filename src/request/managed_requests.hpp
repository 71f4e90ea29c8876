// The managed requests: requests of the program, or of a collective call, that have a message. Also the messages whose
// requests the program has freed.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "request/message_table.hpp"
#include "request/request_lock.hpp"

namespace tempi::message {

struct Completed;

class ManagedRequests {
 public:
  static ManagedRequests& get();

  static bool any() { return n_managed_.load(std::memory_order_relaxed) != 0; }
  // True: there are messages whose requests the program has freed.
  static bool any_orphans() { return n_orphans_.load(std::memory_order_acquire) != 0; }
  // In a forked child: forgets the messages, because they belong to the parent.
  static void forget_all() noexcept;

  void manage(MessagePtr message);
  // The same for a call that the library may complete at once. The library may give the same
  // request to all calls that it completes at once. False: another message already has this request.
  // Therefore, the call is complete, and its message is not managed.
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
  // True: a managed receive for which is_it() is true is complete. Empty: there is no such receive.
  std::optional<bool> has_arrived(FunctionRef<bool(const Transfer&)> is_it) noexcept;

  // While it lives, leave() keeps the messages. The reason: an error handler of the program may
  // free a request while a call is starting the message of this request.
  class Starting {
   public:
    Starting() { get().begin_starting(); }
    ~Starting() { get().end_starting(); }
    Starting(const Starting&) = delete;
    Starting& operator=(const Starting&) = delete;
  };
  // Call it when the program has freed a request that is not started. Destroys the message, or
  // keeps it while an object of Starting exists.
  void leave(MessagePtr&& freed) noexcept;

  // A request that the program has freed: kept until it is complete.
  void adopt(const MessagePtr& message) noexcept;
  // Completes the freed requests whose messages are complete. `at_finalize`: waits for the sends among them.
  void tend_orphans(bool at_finalize) noexcept;

 private:
  void begin_starting() noexcept;
  void end_starting() noexcept;
  void count_all() noexcept;

  inline static std::atomic<std::size_t> n_managed_{0}, n_orphans_{0};
  MessageTable managed_;
  std::vector<MessagePtr> orphans_;
  int n_starting_ = 0;             // objects of Starting
  std::vector<MessagePtr> freed_;  // messages that are kept while n_starting_ > 0
};

}  // namespace tempi::message
