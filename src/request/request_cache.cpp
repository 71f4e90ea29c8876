#include "request/request_cache.hpp"

#include "base/call_lock.hpp"
#include "base/options.hpp"
#include "request/finish.hpp"

namespace tempi::message {
namespace {

constexpr std::int64_t kMuchBytes = 256 << 10;

bool has_kept(CachedRequest& cached, MessagePtr& message) {
  if (cached.message) return false;
  const std::int64_t held = only_transfer(*message).packed_buffer.held_bytes();
  if (held > kMuchBytes && !cached.share.take(held)) return false;
  cached.message = std::move(message);
  return true;
}

// Without the request cache's lock: the library may destroy a communicator in it, or call the program.
template <class Calls>
void end_messages(const Calls& calls) noexcept {
  for (const auto& [arguments, cached] : calls) {
    if (cached.message) end_message(*cached.message);
  }
}

}  // namespace

bool BudgetShare::take(std::int64_t bytes) {
  static const std::int64_t budget = number(Option::POOL_LIMIT) / 4;
  if (bytes > budget) return false;
  if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= budget) {
    bytes_ = bytes;
    return true;
  }
  taken_.fetch_sub(bytes, std::memory_order_relaxed);
  n_refused_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

MessagePtr RequestCache::take(const Arguments& arguments) {
  const CallLock lock(mutex_);
  const auto found = calls_.find(arguments);
  if (found == calls_.end()) return nullptr;
  CachedRequest taken = std::move(found->second);
  taken.share.was_used();
  if (taken.message) taken.message->last_cached = {&found->second, n_emptied_};
  return std::move(taken.message);
}

bool RequestCache::keep(MessagePtr& message) {
  Calls left;
  {
    const CallLock lock(mutex_);
    if (is_closed_) return false;
    if (CachedRequest* const cached = cached_of(*message)) return has_kept(*cached, message);
    left = taken_out();
  }
  end_messages(left);
  return false;
}

void RequestCache::close() {
  const CallLock lock(mutex_);
  is_closed_ = true;
}

void RequestCache::end_all() noexcept { end_messages(emptied()); }

void RequestCache::drop_all() noexcept { emptied(); }

RequestCache::Arguments RequestCache::arguments_of(Message& message) {
  const Transfer& transfer = only_transfer(message);
  const pack::End& buffer = transfer.packed_buffer.box_move().laid_out();
  const pack::Prepared* const prepared = transfer.packed_buffer.prepared().get();
  return {&message.mpi, *message.may_repeat_as, buffer.address, transfer.packed_buffer.box_move().count,
          prepared,     buffer.extent,          transfer.peer,  transfer.tag};
}

CachedRequest* RequestCache::cached_of(Message& message) {
  const auto& [last, n_emptied] = message.last_cached;
  if (n_emptied == n_emptied_) return last;
  const Arguments arguments = arguments_of(message);
  const bool is_full = calls_.size() >= kMostCalls && !calls_.contains(arguments);
  return is_full ? nullptr : &calls_[arguments];
}

RequestCache::Calls RequestCache::taken_out() noexcept {
  ++n_emptied_;
  return std::exchange(calls_, {});
}

RequestCache::Calls RequestCache::emptied() noexcept {
  const CallLock lock(mutex_);
  return taken_out();
}

}  // namespace tempi::message
