#include "request/deferred.hpp"

#include <utility>

#include "base/counters.hpp"
#include "base/log.hpp"
#include "device/kept_until.hpp"

namespace tempi::message {
namespace {

device::KeptUntil& messages() {
  static auto& kept = *new device::KeptUntil;  // never destroyed: kernels may run while the process exits
  return kept;
}

thread_local int n_nothing_deferred = 0;

// Its packed bytes are in memory of its own: others may need a bounce buffer, or the staging memory of a call, now.
bool may_be_deferred(const Message& message, const Transfer& transfer) {
  const pack::Place& place = transfer.packed_buffer.box_move().laid_out().place;
  return n_nothing_deferred == 0 && transfer.queued && transfer.queued->mark && !message.is_collective() &&
         !transfer.packed_buffer.is_elsewhere() && !place.is_split() && place.first.kind == device::MemoryKind::device;
}

// Behind what this thread has queued. (A mark for the CPU may be reached sooner than its work is done.)
device::MarkPtr mark_of_queue(const PackedBuffer& packed_buffer) {
  return device::Scope(packed_buffer.device(), packed_buffer.context()).mark();
}

// False: the thread has no stream that can wait.
bool stream_waits(const Transfer& transfer) {
  const PackedBuffer& packed_buffer = transfer.packed_buffer;
  const auto stream = device::stream_for(packed_buffer.device(), packed_buffer.box_move().laid_out().place.first);
  if (!stream) return false;
  const device::Scope here(packed_buffer.device(), packed_buffer.context(), *stream);
  if (here.is_capturing()) return false;
  here.wait_for(*transfer.deferred->mark);
  return true;
}

}  // namespace

bool is_deferred(const MessagePtr& message, Transfer& transfer) noexcept try {
  if (!device::calls_are_ordered() || !may_be_deferred(*message, transfer)) return false;
  device::Device& device = transfer.packed_buffer.device();
  if (!device::stream_for(device, transfer.packed_buffer.box_move().laid_out().place.first)) return false;
  const device::MarkPtr mark = mark_of_queue(transfer.packed_buffer);
  auto deferred =
      std::make_shared<const pack::Queued>(pack::Queued{mark, transfer.queued->tables, transfer.queued->list});
  messages().keep(mark, message);
  transfer.deferred = std::move(deferred);
  transfer.queued = nullptr;
  count_call(Function::unpacking, Outcome::queued, static_cast<std::uint64_t>(transfer.packed_buffer.bytes()));
  return true;
} catch (...) {
  warn_fallback("a call waits until its message is unpacked", caught_error().what());
  return false;
}

void follow_deferred(Message& message) noexcept {
  message.ins.each([&](Transfer& transfer) {
    if (!transfer.deferred) return;
    try {
      if (!stream_waits(transfer)) transfer.deferred->mark->wait();
    } catch (...) {
      message.failure.emplace(caught_error());
    }
  });
}

NothingDeferred::NothingDeferred() noexcept { ++n_nothing_deferred; }
NothingDeferred::~NothingDeferred() { --n_nothing_deferred; }

void await_deferred(Transfer& transfer) {
  if (const auto deferred = std::exchange(transfer.deferred, nullptr)) deferred->mark->wait();
}

}  // namespace tempi::message
