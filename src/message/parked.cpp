#include "message/parked.hpp"

#include <atomic>
#include <mutex>
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

constexpr std::int64_t kMuchBytes = 256 << 10;  // that a message holds

Part& only_part(Message& message) { return message.outs.empty() ? message.ins.first() : message.outs.first(); }

// A share of the memory that the parked messages of all lots may hold which hold much.
class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Share() { taken_.fetch_sub(bytes_, std::memory_order_relaxed); }

  // False: there is none left.
  bool take(std::int64_t bytes) {
    static const std::int64_t all = number(Option::POOL_LIMIT) / 4;
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > all) {
      taken_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    bytes_ = bytes;
    return true;
  }

 private:
  inline static std::atomic<std::int64_t> taken_{0};
  std::int64_t bytes_ = 0;
};

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

  struct HashOfArguments {
    std::size_t operator()(const Arguments& of) const noexcept {
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
    const auto found = places_.find(arguments);
    if (found == places_.end()) return nullptr;
    Place taken = std::move(found->second);
    if (taken.message) n_refused_ = 0;
    return std::move(taken.message);
  }

  // False: the lot is closed, has another message of the same arguments, or no room for this one. If that goes on the
  // program has gone on to other calls: the lot starts afresh.
  bool keep(const Arguments& arguments, const MessagePtr& message) {
    Places left;
    {
      const CallLock lock(mutex_);
      if (is_closed_) return false;
      const bool is_full = places_.size() >= kMostCalls && !places_.contains(arguments);
      if (!is_full && n_refused_ < kMostCalls) return has_kept(arguments, message);
      left = emptied();
    }
    end(left);
    return false;
  }

  void close() {
    const CallLock lock(mutex_);
    is_closed_ = true;
  }

  void end_all() noexcept { end(all_taken()); }
  void drop_all() noexcept { all_taken(); }

 private:
  static constexpr std::size_t kMostCalls = 256;
  struct Place {
    MessagePtr message;
    Share share;  // of a message that holds much
  };
  using Places = std::unordered_map<Arguments, Place, HashOfArguments>;

  bool has_kept(const Arguments& arguments, const MessagePtr& message) {
    Place& place = places_[arguments];
    if (place.message) return false;
    const std::int64_t held = only_part(*message).payload.held_bytes();
    if (held > kMuchBytes && !place.share.take(held)) {
      ++n_refused_;
      return false;
    }
    place.message = message;
    return true;
  }
  Places emptied() noexcept {
    n_refused_ = 0;
    return std::exchange(places_, {});
  }
  Places all_taken() noexcept {
    const CallLock lock(mutex_);
    return emptied();
  }
  // Without the lock: the library may destroy a communicator in it, or call the program.
  static void end(const Places& places) noexcept {
    for (const auto& [arguments, place] : places) {
      if (place.message) end_message(*place.message);
    }
  }

  std::mutex mutex_;
  bool is_closed_ = false;
  Places places_;
  std::size_t n_refused_ = 0;  // for want of a share, since a message was last taken
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

Lot::Arguments arguments_of(Message& message) {
  const Part& part = only_part(message);
  const pack::End& buffer = part.payload.transfer().laid_out();
  return {
      &message.mpi,  *message.recurs_as, buffer.address, part.payload.transfer().count, part.payload.prepared().get(),
      buffer.extent, part.peer,          part.tag};
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

// Somebody has asked for staging memory in vain since this was asked last.
bool was_memory_short() noexcept {
  static std::atomic<std::uint64_t> n_seen{0};
  const std::uint64_t n = device::staging_shortages();
  return n_seen.load(std::memory_order_relaxed) != n && n_seen.exchange(n, std::memory_order_relaxed) != n;
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

bool park(const MessagePtr& message) noexcept try {
  if (!message->lot) return false;
  if (was_memory_short()) {
    end_parked();
    return false;
  }
  if (message->lifetime == Lifetime::plain) message->request = request_null();  // before anyone may take it
  return message->lot->keep(arguments_of(*message), message);
} catch (...) {
  warn_fallback("a message is not kept for the next call", caught_error().what());
  return false;
}

void end_parked() noexcept {
  std::vector<LotPtr> lots;
  {
    const CallLock lock(registry().mutex);
    for (const auto& one : registry().all) {
      if (LotPtr lot = one.lock()) lots.push_back(std::move(lot));
    }
  }
  for (const LotPtr& lot : lots) lot->end_all();
}

}  // namespace tempi::message
