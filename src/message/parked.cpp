#include "message/parked.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "device/staging.hpp"
#include "peer/peer.hpp"
#include "types/types.hpp"

namespace tempi::message {
namespace {

Part& only_part(Message& message) { return message.outs.empty() ? message.ins.first() : message.outs.first(); }

constexpr std::int64_t kMuchBytes = 256 << 10;

// A part of the process's budget for parked messages that hold more than that.
class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Share() {
    if (bytes_ > 0) taken_.fetch_sub(bytes_, std::memory_order_relaxed);
  }

  // False: the budget is used up, or smaller.
  bool take(std::int64_t bytes) {
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
  // Its message was of use.
  void was_used() const {
    if (bytes_ > 0) forget_refusals();
  }

  static void forget_refusals() { n_refused_.store(0, std::memory_order_relaxed); }
  // Those who have the budget come no more.
  static bool are_idle() { return n_refused_.load(std::memory_order_relaxed) >= kMostRefused; }

 private:
  static constexpr int kMostRefused = 256;
  inline static std::atomic<std::int64_t> taken_{0};
  inline static std::atomic<int> n_refused_{0};  // since one of them was used
  std::int64_t bytes_ = 0;
};

// Requests for staging memory that failed until parked messages were last ended.
std::atomic<std::uint64_t> n_shortages_seen{0};

bool is_room_wanted() noexcept {
  return Share::are_idle() || n_shortages_seen.load(std::memory_order_relaxed) != device::staging_shortages();
}

}  // namespace

// A call keeps its place, its message comes and goes.
class Lot {
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

  // With noexcept libstdc++ would store no hash values, and compute those of neighbours at each search.
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

  MessagePtr take(const Arguments& arguments) {
    const CallLock lock(mutex_);
    const auto found = calls_.find(arguments);
    if (found == calls_.end()) return nullptr;
    Parked taken = std::move(found->second);
    taken.share.was_used();
    if (taken.message) taken.message->last_parked = {&found->second, n_emptied_};
    return std::move(taken.message);
  }

  // False: the lot is closed, has another message of the same arguments, or there is no share for this one. A full lot
  // starts afresh: the program has gone on to other calls.
  bool keep(MessagePtr& message) {
    Calls left;
    {
      const CallLock lock(mutex_);
      if (is_closed_) return false;
      if (Parked* const parked = parked_of(*message)) return has_kept(*parked, message);
      left = taken_out();
    }
    end(left);
    return false;
  }

  void close() {
    const CallLock lock(mutex_);
    is_closed_ = true;
  }

  void end_all() noexcept { end(emptied()); }
  void drop_all() noexcept { emptied(); }

 private:
  static constexpr std::size_t kMostCalls = 256;
  struct Parked {
    MessagePtr message;
    Share share;  // none for one that holds little
  };
  using Calls = std::unordered_map<Arguments, Parked, HashOfArguments>;

  static Arguments arguments_of(Message& message) {
    const Part& part = only_part(message);
    const pack::End& buffer = part.payload.transfer().laid_out();
    const pack::Prepared* const prepared = part.payload.prepared().get();
    return {&message.mpi, *message.recurs_as, buffer.address, part.payload.transfer().count,
            prepared,     buffer.extent,      part.peer,      part.tag};
  }
  // Null: there is no room for another call.
  Parked* parked_of(Message& message) {
    const auto& [last, n_emptied] = message.last_parked;
    if (n_emptied == n_emptied_) return static_cast<Parked*>(last);
    const Arguments arguments = arguments_of(message);
    const bool is_full = calls_.size() >= kMostCalls && !calls_.contains(arguments);
    return is_full ? nullptr : &calls_[arguments];
  }
  static bool has_kept(Parked& parked, MessagePtr& message) {
    if (parked.message) return false;
    const std::int64_t held = only_part(*message).payload.held_bytes();
    if (held > kMuchBytes && !parked.share.take(held)) return false;
    parked.message = std::move(message);
    return true;
  }
  // With the lock.
  Calls taken_out() noexcept {
    ++n_emptied_;
    return std::exchange(calls_, {});
  }
  Calls emptied() noexcept {
    const CallLock lock(mutex_);
    return taken_out();
  }
  // Without the lock: the library may destroy a communicator in it, or call the program.
  static void end(const Calls& calls) noexcept {
    for (const auto& [arguments, parked] : calls) {
      if (parked.message) end_message(*parked.message);
    }
  }

  std::mutex mutex_;
  bool is_closed_ = false;
  Calls calls_;
  std::uint64_t n_emptied_ = 1;  // and once more: 0 is a message that was never parked
};

namespace {

using LotPtr = std::shared_ptr<Lot>;

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Lot>> all;
};

Registry& registry() {
  static auto& the_registry = *new Registry;  // never destroyed: communicators end while the process exits
  return the_registry;
}

class LotOfCommunicator final : public peer::Attachment {
 public:
  LotOfCommunicator() {
    const CallLock lock(registry().mutex);
    std::erase_if(registry().all, [](const auto& one) { return one.expired(); });
    registry().all.push_back(lot_);
  }
  // Messages that are under way end later, and the library's communicator with the last of them: none is left here.
  ~LotOfCommunicator() override {
    lot_->close();
    lot_->drop_all();
  }
  void communicator_ends() noexcept override {
    lot_->close();
    lot_->end_all();
  }
  const LotPtr& lot() const { return lot_; }

 private:
  const LotPtr lot_ = std::make_shared<Lot>();
};

bool recurs(Function function) {
  return function == Function::MPI_Isend || function == Function::MPI_Issend || function == Function::MPI_Irsend ||
         function == Function::MPI_Irecv;
}

Lot::Arguments arguments_of(const Call& call, const pack::Prepared* prepared, std::int64_t extent) {
  const auto& [buffer, peer, tag] = call.half();
  return {&call.real, buffer.function, buffer.address, buffer.count, prepared, extent, peer, tag};
}

bool lies_in_one_allocation(const pack::Transfer& transfer) {
  const pack::End& buffer = transfer.laid_out();
  return !buffer.place.is_split() &&
         pack::lies_in_one_place(buffer.place.first, buffer.address, pack::span_of(buffer, transfer.count));
}

// The memory at the buffer's address may be another one than it was.
bool is_where_it_was(const Payload& payload) noexcept {
  const pack::End& buffer = payload.transfer().laid_out();
  return device::current() == &payload.device() &&
         payload.device().is_still(buffer.place.first, buffer.at(buffer.layout->true_lower_bound));
}

}  // namespace

MessagePtr take_parked(const Call& call) {
  const bool has_one_half = call.out == nullptr || call.in == nullptr;
  if (!has_one_half || !recurs(call.half().buffer.function)) return nullptr;
  const Buffer& buffer = call.half().buffer;
  const peer::Attachment* const known = peer::known_attachment(buffer.comm, peer::Attached::parked);
  const KnownType* const type = known != nullptr ? find_type(buffer.datatype) : nullptr;
  if (type == nullptr || !type->is_committed.load(std::memory_order_relaxed)) return nullptr;
  Lot& lot = *static_cast<const LotOfCommunicator*>(known)->lot();
  MessagePtr message = lot.take(arguments_of(call, type->prepared.get(), type->extent));
  if (!message) return nullptr;
  const Payload& payload = only_part(*message).payload;
  if (!is_where_it_was(payload)) {
    end_message(*message);
    return nullptr;
  }
  count_side(buffer, call.half().peer, *type, payload.strategy());
  return message;
}

void choose_lot(const Call& call, Message& message) {
  const Buffer& buffer = call.half().buffer;
  const Payload& payload = only_part(message).payload;
  if (!payload.transfer().laid_out().place.first.on_gpu()) return;
  if (!payload.has_wanted_memory()) return end_parked();
  if (!recurs(buffer.function) || !lies_in_one_allocation(payload.transfer())) return;
  const auto make = [](Handle) -> std::unique_ptr<peer::Attachment> { return std::make_unique<LotOfCommunicator>(); };
  const auto* const here = static_cast<LotOfCommunicator*>(peer::attachment(buffer.comm, peer::Attached::parked, make));
  if (here == nullptr) return;
  message.recurs_as = buffer.function;
  message.lot = here->lot();
}

bool park(MessagePtr& message) noexcept try {
  if (!message->lot) return false;
  if (is_room_wanted()) {
    end_parked();
    return false;
  }
  if (message->lifetime == Lifetime::plain) message->request = request_null();  // before anyone may take it
  return message->lot->keep(message);
} catch (...) {
  warn_fallback("a message is not kept for the next call", caught_error().what());
  return false;
}

void end_parked() noexcept {
  n_shortages_seen.store(device::staging_shortages(), std::memory_order_relaxed);
  Share::forget_refusals();
  const auto lot_at = [](std::size_t i) {
    const CallLock lock(registry().mutex);
    return i < registry().all.size() ? std::optional(registry().all[i].lock()) : std::nullopt;
  };
  for (std::size_t i = 0; const auto lot = lot_at(i); ++i) {
    if (*lot) (*lot)->end_all();
  }
}

}  // namespace tempi::message
