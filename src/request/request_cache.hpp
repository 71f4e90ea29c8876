// The cached messages of one communicator (request/repeated_calls.hpp), by the arguments of their calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "request/message.hpp"

namespace tempi::message {

// The transfer of a message that may be cached.
inline Transfer& only_transfer(Message& message) {
  return message.outs.empty() ? message.ins.first() : message.outs.first();
}

// A part of the process's budget for cached messages that hold much memory.
class BudgetShare {
 public:
  BudgetShare() = default;
  BudgetShare(BudgetShare&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BudgetShare() {
    if (bytes_ > 0) taken_.fetch_sub(bytes_, std::memory_order_relaxed);
  }

  // False: the rest of the budget is too small.
  bool take(std::int64_t bytes);
  // The message of this share was reused.
  void was_used() const {
    if (bytes_ > 0) forget_refusals();
  }

  static void forget_refusals() { n_refused_.store(0, std::memory_order_relaxed); }
  // The messages that hold the budget are not reused.
  static bool are_idle() { return n_refused_.load(std::memory_order_relaxed) >= kMostRefused; }

 private:
  static constexpr int kMostRefused = 256;
  inline static std::atomic<std::int64_t> taken_{0};
  inline static std::atomic<int> n_refused_{0};  // since a message with a share was reused
  std::int64_t bytes_ = 0;
};

// The entry of one call. It remains in the cache while a later call uses its message.
struct CachedRequest {
  MessagePtr message;
  BudgetShare share;  // only if the message holds much memory
};

class RequestCache {
 public:
  // The arguments of a call, and the layer that made its request.
  struct Arguments {
    const Real* real;
    Function function;
    const void* address;
    Count count;
    const pack::Prepared* prepared;
    std::int64_t extent;
    int peer, tag;
    bool operator==(const Arguments&) const = default;
  };

  // Null: there is none.
  MessagePtr take(const Arguments& arguments);
  // True: the message is kept, and the pointer is null. False: the request cache is closed, has another message with
  // the same arguments, or there is no share for this message. A full request cache is emptied first, because the
  // program now makes other calls.
  bool keep(MessagePtr& message);
  void close();
  void end_all() noexcept;
  void drop_all() noexcept;

 private:
  static constexpr std::size_t kMostCalls = 256;
  // It is not noexcept: otherwise libstdc++ would not store the hash values, and each search would compute the hash
  // values of other entries.
  struct HashOfArguments {
    std::size_t operator()(const Arguments& of) const {
      constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;  // golden ratio
      const auto upper = std::uint64_t{static_cast<std::uint32_t>(of.peer)} << 32;
      std::uint64_t hash = reinterpret_cast<std::uintptr_t>(of.address) + static_cast<std::uint64_t>(of.count);
      hash = hash * kFactor + reinterpret_cast<std::uintptr_t>(of.prepared);
      hash = hash * kFactor + (upper | static_cast<std::uint32_t>(of.tag));
      return (hash * kFactor) >> 20;
    }
  };
  using Calls = std::unordered_map<Arguments, CachedRequest, HashOfArguments>;

  static Arguments arguments_of(Message& message);
  // Null: there is no room for another call.
  CachedRequest* cached_of(Message& message);
  // With the lock.
  Calls taken_out() noexcept;
  Calls emptied() noexcept;

  Mutex<Lock::request_cache> mutex_;
  bool is_closed_ = false;
  Calls calls_;
  std::uint64_t n_emptied_ = 1;  // 1 + how often it was emptied; 0 stands for a message that was never cached
};

}  // namespace tempi::message
