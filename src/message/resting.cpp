#include "message/resting.hpp"

#include <mutex>
#include <set>
#include <unordered_map>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "peer/peer.hpp"
#include "types/types.hpp"

namespace tempi::message {
namespace {

constexpr std::int64_t kMostBytes = 256 << 10;  // of a message that rests
constexpr std::size_t kMostCalls = 256;         // of a communicator; beyond, it starts afresh

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
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(of.address) + static_cast<std::uint64_t>(of.count);
    hash = hash * kFactor + reinterpret_cast<std::uintptr_t>(of.prepared);
    hash = hash * kFactor +
           (std::uint64_t{static_cast<std::uint32_t>(of.peer)} << 32 | static_cast<std::uint32_t>(of.tag));
    return (hash * kFactor) >> 20;
  }
};

// Those of one communicator. A call keeps its entry, its message comes and goes.
class Resting final : public peer::Attachment {
 public:
  Resting();
  ~Resting() override;
  // Messages that are under way end later, and the library's communicator with the last of them.
  void communicator_ends() noexcept override {
    {
      const CallLock lock(mutex_);
      has_ended_ = true;
    }
    end();
  }

  MessagePtr take(const Arguments& arguments) {
    const CallLock lock(mutex_);
    const auto found = by_arguments_.find(arguments);
    return found != by_arguments_.end() ? std::move(found->second) : nullptr;
  }

  // False: another one of the same arguments rests already, or the communicator is freed.
  bool keep(const Arguments& arguments, const MessagePtr& message) {
    if (is_full()) end();
    const CallLock lock(mutex_);
    MessagePtr& resting = by_arguments_[arguments];
    if (has_ended_ || resting) return false;
    resting = message;
    return true;
  }

  void end() noexcept;

 private:
  bool is_full() {
    const CallLock lock(mutex_);
    return by_arguments_.size() >= kMostCalls;
  }

  std::mutex mutex_;
  bool has_ended_ = false;
  std::unordered_map<Arguments, MessagePtr, HashOfArguments> by_arguments_;
};

struct Registry {
  std::mutex mutex;
  std::set<Resting*> all;
};

Registry& registry() {
  static auto& the_registry = *new Registry;  // never destroyed: communicators end while the process exits
  return the_registry;
}

void end(Message& message) noexcept {
  message.state.become(MessageState::ended);
  if (message.lifetime == Lifetime::ours) message.mpi.MPI_Request_free(&message.request);
}

Resting::Resting() {
  const CallLock lock(registry().mutex);
  registry().all.insert(this);
}

Resting::~Resting() {
  const CallLock lock(registry().mutex);
  registry().all.erase(this);
}

void Resting::end() noexcept {
  std::unordered_map<Arguments, MessagePtr, HashOfArguments> ended;
  {
    const CallLock lock(mutex_);
    ended.swap(by_arguments_);
  }
  for (const auto& [arguments, message] : ended) {
    if (message) message::end(*message);
  }
}

bool recurs(Function function) {
  return function == Function::MPI_Isend || function == Function::MPI_Issend || function == Function::MPI_Irsend ||
         function == Function::MPI_Irecv;
}

Part& only_part(Message& message) { return message.outs.empty() ? message.ins.first() : message.outs.first(); }

Arguments arguments_of(Message& message) {
  const Part& part = only_part(message);
  const pack::Transfer& transfer = part.payload.transfer();
  const pack::End& end = transfer.laid_out();
  return {&message.mpi, *message.recurs_as, end.address, transfer.count, part.payload.prepared().get(),
          end.extent,   part.peer,          part.tag};
}

// The memory at the buffer's address may be another one than it was.
bool is_where_it_was(const Payload& payload) {
  if (device::current() != &payload.device()) return false;
  const pack::End& end = payload.transfer().laid_out();
  const device::Location& was = end.place.first;
  const device::Location is = pack::locate(end, payload.transfer().count, payload.device()).first;
  return is.kind == was.kind && is.ordinal == was.ordinal && is.context == was.context && is.begin == was.begin &&
         is.end == was.end && is.id == was.id;
}

}  // namespace

MessagePtr take_resting(const Call& call) {
  const bool has_one_half = call.out == nullptr || call.in == nullptr;
  if (!has_one_half || !recurs(call.half().buffer.function)) return nullptr;
  const Half& half = call.half();
  const Buffer& buffer = half.buffer;
  auto* const here = static_cast<Resting*>(peer::known_attachment(buffer.comm, peer::Attached::resting));
  const KnownType* const type = here != nullptr ? find_type(buffer.datatype) : nullptr;
  if (type == nullptr || !type->is_committed.load(std::memory_order_relaxed)) return nullptr;
  MessagePtr message = here->take({&call.real, buffer.function, buffer.address, buffer.count, type->prepared.get(),
                                   type->extent, half.peer, half.tag});
  if (!message) return nullptr;
  const Payload& payload = only_part(*message).payload;
  if (!is_where_it_was(payload)) {
    end(*message);
    return nullptr;
  }
  count_side(buffer, half.peer, *type, payload.strategy());
  return message;
}

void let_recur(const Call& call, Message& message) {
  const Buffer& buffer = call.half().buffer;
  if (!recurs(buffer.function)) return;
  const pack::Transfer& transfer = only_part(message).payload.transfer();
  const pack::Place& place = transfer.laid_out().place;
  if (transfer.bytes() > kMostBytes || !place.first.on_gpu() || place.is_split()) return;
  const auto make = [](Handle) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Resting>(); };
  if (peer::attachment(buffer.comm, peer::Attached::resting, make) != nullptr) message.recurs_as = buffer.function;
}

bool rest(const MessagePtr& message) noexcept try {
  if (!message->recurs_as) return false;
  auto* const here = static_cast<Resting*>(peer::known_attachment(message->comm, peer::Attached::resting));
  if (here == nullptr || !here->keep(arguments_of(*message), message)) return false;
  if (message->lifetime == Lifetime::plain) message->request = request_null();
  return true;
} catch (...) {
  warn_fallback("a message is not kept for the next call", caught_error().what());
  return false;
}

void end_resting() noexcept {
  const CallLock lock(registry().mutex);
  for (Resting* const one : registry().all) one->end();
}

}  // namespace tempi::message
