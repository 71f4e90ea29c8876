#include "message/lot.hpp"

#include "base/call_lock.hpp"
#include "base/options.hpp"
#include "message/finish.hpp"

namespace tempi::message {
namespace {

constexpr std::int64_t kMuchBytes = 256 << 10;

bool has_kept(Parked& parked, MessagePtr& message) {
  if (parked.message) return false;
  const std::int64_t held = only_part(*message).payload.held_bytes();
  if (held > kMuchBytes && !parked.share.take(held)) return false;
  parked.message = std::move(message);
  return true;
}

// Without the lot's lock: the library may destroy a communicator in it, or call the program.
template <class Calls>
void end_messages(const Calls& calls) noexcept {
  for (const auto& [arguments, parked] : calls) {
    if (parked.message) end_message(*parked.message);
  }
}

}  // namespace

bool Share::take(std::int64_t bytes) {
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

MessagePtr Lot::take(const Arguments& arguments) {
  const CallLock lock(mutex_);
  const auto found = calls_.find(arguments);
  if (found == calls_.end()) return nullptr;
  Parked taken = std::move(found->second);
  taken.share.was_used();
  if (taken.message) taken.message->last_parked = {&found->second, n_emptied_};
  return std::move(taken.message);
}

bool Lot::keep(MessagePtr& message) {
  Calls left;
  {
    const CallLock lock(mutex_);
    if (is_closed_) return false;
    if (Parked* const parked = parked_of(*message)) return has_kept(*parked, message);
    left = taken_out();
  }
  end_messages(left);
  return false;
}

void Lot::close() {
  const CallLock lock(mutex_);
  is_closed_ = true;
}

void Lot::end_all() noexcept { end_messages(emptied()); }

void Lot::drop_all() noexcept { emptied(); }

Lot::Arguments Lot::arguments_of(Message& message) {
  const Part& part = only_part(message);
  const pack::End& buffer = part.payload.transfer().laid_out();
  const pack::Prepared* const prepared = part.payload.prepared().get();
  return {&message.mpi, *message.recurs_as, buffer.address, part.payload.transfer().count,
          prepared,     buffer.extent,      part.peer,      part.tag};
}

Parked* Lot::parked_of(Message& message) {
  const auto& [last, n_emptied] = message.last_parked;
  if (n_emptied == n_emptied_) return last;
  const Arguments arguments = arguments_of(message);
  const bool is_full = calls_.size() >= kMostCalls && !calls_.contains(arguments);
  return is_full ? nullptr : &calls_[arguments];
}

Lot::Calls Lot::taken_out() noexcept {
  ++n_emptied_;
  return std::exchange(calls_, {});
}

Lot::Calls Lot::emptied() noexcept {
  const CallLock lock(mutex_);
  return taken_out();
}

}  // namespace tempi::message
