#include "message/deferred.hpp"

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

// Its packed bytes are in memory of its own: others may need a bounce buffer, or the staging memory of a call, now.
bool may_be_deferred(const Message& message, const Part& part) {
  const pack::Place& place = part.payload.transfer().laid_out().place;
  return part.queued && part.queued->mark && !message.is_collective() && !part.offer && !place.is_split() &&
         place.first.kind == device::MemoryKind::device;
}

// Behind what this thread has queued. (A mark for the CPU may be reached sooner than its work is done.)
device::MarkPtr mark_of_queue(const Payload& payload) {
  return device::Scope(payload.device(), payload.context()).mark();
}

}  // namespace

bool is_deferred(const MessagePtr& message, Part& part) noexcept try {
  if (!device::calls_are_ordered() || !may_be_deferred(*message, part)) return false;
  device::Device& device = part.payload.device();
  const auto stream = device::stream_for(device, part.payload.transfer().laid_out().place.first);
  if (!stream) return false;
  const device::MarkPtr mark = mark_of_queue(part.payload);
  const device::Scope here(device, part.payload.context(), *stream);
  if (here.is_capturing()) return false;
  here.wait_for(*mark);
  part.deferred = std::make_shared<const pack::Queued>(pack::Queued{mark, part.queued->tables, part.queued->list});
  part.queued = nullptr;
  messages().keep(mark, message);
  count_call(Function::unpacking, Outcome::queued, static_cast<std::uint64_t>(part.payload.bytes()));
  return true;
} catch (...) {
  warn_fallback("a call waits until its message is unpacked", caught_error().what());
  return false;
}

void await_deferred(Part& part) {
  if (const auto deferred = std::exchange(part.deferred, nullptr)) deferred->mark->wait();
}

}  // namespace tempi::message
