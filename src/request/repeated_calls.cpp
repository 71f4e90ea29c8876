#include "request/repeated_calls.hpp"

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
#include "peer/peer.hpp"
#include "request/deferred.hpp"
#include "request/finish.hpp"
#include "request/request_cache.hpp"
#include "types/types.hpp"

namespace tempi::message {
namespace {

// Requests for staging memory that failed until cached messages were last ended.
std::atomic<std::uint64_t> n_shortages_seen{0};

bool is_room_wanted() noexcept {
  return BudgetShare::are_idle() || n_shortages_seen.load(std::memory_order_relaxed) != device::staging_shortages();
}

using RequestCachePtr = std::shared_ptr<RequestCache>;

struct Registry {
  Mutex<Lock::request_caches> mutex;
  std::vector<std::weak_ptr<RequestCache>> all;
};

Registry& registry() {
  static auto& the_registry = *new Registry;  // never destroyed: communicators end while the process exits
  return the_registry;
}

class RequestCacheOfCommunicator final : public peer::Attachment {
 public:
  RequestCacheOfCommunicator() {
    const CallLock lock(registry().mutex);
    std::erase_if(registry().all, [](const auto& one) { return one.expired(); });
    registry().all.push_back(request_cache_);
  }
  // Messages that are under way end later, and the library's communicator with the last of them: none is left here.
  ~RequestCacheOfCommunicator() override {
    request_cache_->close();
    request_cache_->drop_all();
  }
  void communicator_ends() noexcept override {
    request_cache_->close();
    request_cache_->end_all();
  }
  const RequestCachePtr& request_cache() const { return request_cache_; }

 private:
  const RequestCachePtr request_cache_ = std::make_shared<RequestCache>();
};

bool may_repeat(Function function) {
  return function == Function::MPI_Isend || function == Function::MPI_Issend || function == Function::MPI_Irsend ||
         function == Function::MPI_Irecv;
}

RequestCache::Arguments arguments_of(const Real& real, const Envelope& envelope, const KnownType& type) {
  const Buffer& buffer = envelope.buffer;
  return {&real,       buffer.function, buffer.address, buffer.count, type.prepared.get(),
          type.extent, envelope.peer,   envelope.tag};
}

bool lies_in_one_allocation(const pack::BoxMove& box_move) {
  const pack::End& buffer = box_move.laid_out();
  return !buffer.place.is_split() &&
         pack::lies_in_one_place(buffer.place.first, buffer.address, pack::span_of(buffer, box_move.count));
}

// The memory at the buffer's address may be another one than it was.
bool is_where_it_was(const PackedBuffer& packed_buffer) noexcept {
  const pack::End& buffer = packed_buffer.box_move().laid_out();
  return device::current() == &packed_buffer.device() &&
         packed_buffer.device().is_still(buffer.place.first, buffer.at(buffer.layout->true_lower_bound));
}

}  // namespace

MessagePtr take_cached(const Real& real, const Envelope& envelope) {
  const Buffer& buffer = envelope.buffer;
  if (!may_repeat(buffer.function)) return nullptr;
  const peer::Attachment* const known = peer::known_attachment(buffer.comm, peer::Attached::cached);
  const KnownType* const type = known != nullptr ? find_type(buffer.datatype) : nullptr;
  if (type == nullptr || !type->is_committed.load(std::memory_order_relaxed)) return nullptr;
  RequestCache& request_cache = *static_cast<const RequestCacheOfCommunicator*>(known)->request_cache();
  MessagePtr message = request_cache.take(arguments_of(real, envelope, *type));
  if (!message) return nullptr;
  const device::OrderedByMarks ordered;
  PackedBuffer& packed_buffer = only_transfer(*message).packed_buffer;
  if (!is_where_it_was(packed_buffer)) {
    end_message(*message);
    return nullptr;
  }
  try {
    await_deferred(only_transfer(*message));
    packed_buffer.come_after_streams();
  } catch (...) {
    end_message(*message);
    throw;
  }
  count_endpoint(buffer, envelope.peer, *type, packed_buffer.strategy(), packed_buffer.box_move().touches_gpu());
  return message;
}

void choose_request_cache(const Buffer& buffer, Message& message) {
  const PackedBuffer& packed_buffer = only_transfer(message).packed_buffer;
  if (!packed_buffer.box_move().laid_out().place.first.on_gpu()) return;
  if (!packed_buffer.has_wanted_memory()) return end_cached();
  if (!may_repeat(buffer.function) || !lies_in_one_allocation(packed_buffer.box_move())) return;
  const auto make = [](Handle) -> std::unique_ptr<peer::Attachment> {
    return std::make_unique<RequestCacheOfCommunicator>();
  };
  const auto* const here =
      static_cast<RequestCacheOfCommunicator*>(peer::attachment(buffer.comm, peer::Attached::cached, make));
  if (here == nullptr) return;
  message.may_repeat_as = buffer.function;
  message.request_cache = here->request_cache();
}

bool cache_message(MessagePtr& message) noexcept try {
  if (!message->request_cache) return false;
  if (is_room_wanted()) {
    end_cached();
    return false;
  }
  if (message->lifetime == Lifetime::plain) message->request = request_null();  // before anyone may take it
  return message->request_cache->keep(message);
} catch (...) {
  warn_fallback("a request is not cached for the next call", caught_error().what());
  return false;
}

void end_cached() noexcept {
  n_shortages_seen.store(device::staging_shortages(), std::memory_order_relaxed);
  BudgetShare::forget_refusals();
  const auto request_cache_at = [](std::size_t i) {
    const CallLock lock(registry().mutex);
    return i < registry().all.size() ? std::optional(registry().all[i].lock()) : std::nullopt;
  };
  for (std::size_t i = 0; const auto request_cache = request_cache_at(i); ++i) {
    if (*request_cache) (*request_cache)->end_all();
  }
}

}  // namespace tempi::message
