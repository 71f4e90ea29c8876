#include "stream/last_use.hpp"

#include <atomic>

#include "base/yield_until.hpp"
#include "request/progress.hpp"

namespace tempi::message {
namespace {

std::atomic<bool> uses_several_streams{false};

void await(const LastUse& last) {
  const auto exchange = last.exchange.lock();
  yield_until(kForever, [&] { return !exchange || !exchange->is_running(); }, make_progress);
}

}  // namespace

void come_after(const device::Scope& stream, device::StreamHandle handle, const LastUse& last) {
  if (last.exchange.expired() || last.stream == handle) return;
  uses_several_streams.store(true, std::memory_order_relaxed);
  if (last.mark) stream.wait_for(*last.mark);
  else await(last);
}

device::MarkPtr mark_of_use(const device::Scope& stream) {
  return uses_several_streams.load(std::memory_order_relaxed) ? stream.mark() : nullptr;
}

}  // namespace tempi::message
