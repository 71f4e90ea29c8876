#include "message/parked.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "device/staging.hpp"
#include "message/deferred.hpp"
#include "message/lot.hpp"
#include "peer/peer.hpp"
#include "types/types.hpp"

namespace tempi::message {
namespace {

// Requests for staging memory that failed until parked messages were last ended.
std::atomic<std::uint64_t> n_shortages_seen{0};

bool is_room_wanted() noexcept {
  return Share::are_idle() || n_shortages_seen.load(std::memory_order_relaxed) != device::staging_shortages();
}

using LotPtr = std::shared_ptr<Lot>;

struct Registry {
  Mutex<Lock::parked> mutex;
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
  const Half& half = call.half();
  const Buffer& buffer = half.buffer;
  return {&call.real, buffer.function, buffer.address, buffer.count, prepared, extent, half.peer, half.tag};
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
  const device::OrderedByMarks ordered;
  Payload& payload = only_part(*message).payload;
  if (!is_where_it_was(payload)) {
    end_message(*message);
    return nullptr;
  }
  try {
    await_deferred(only_part(*message));
    payload.come_after_streams();
  } catch (...) {
    end_message(*message);
    throw;
  }
  count_side(buffer, call.half().peer, *type, payload.strategy(), payload.transfer().touches_gpu());
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
  warn_fallback("a request is not cached for the next call", caught_error().what());
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
