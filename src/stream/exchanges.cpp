#include "stream/exchanges.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <mutex>

#include "request/stream_work.hpp"
#include "stream/on_stream.hpp"

namespace tempi::message {
namespace {

struct Known {
  device::Context context;
  bool is_captured;
  std::vector<std::shared_ptr<ChannelEnd>> ends;  // that its kernel uses
  std::shared_ptr<pack::PreparedExchange> prepared;

  bool is_of(device::Context its, bool its_captured, const std::vector<EnqueuedEnd>& others) const {
    const auto is_same = [](const std::shared_ptr<ChannelEnd>& one, const EnqueuedEnd& other) {
      return one == *other.end;
    };
    return context == its && is_captured == its_captured &&
           std::equal(ends.begin(), ends.end(), others.begin(), others.end(), is_same);
  }
};

struct All {
  std::deque<Known> known;    // the last used one first
  std::deque<Known> retired;  // kernels of theirs may still run
};

All& all() {
  static auto& exchanges = *new All;  // never destroyed: kernels may run while the process exits
  return exchanges;
}

Known make(const device::Scope& stream, bool is_captured, const std::vector<EnqueuedEnd>& ends,
           const pack::TypedReduction* reduction) {
  std::vector<pack::ExchangedSend> sends;
  std::vector<pack::ExchangedReceive> receives;
  std::vector<std::shared_ptr<ChannelEnd>> used;
  for (const auto& [shared, is_send] : ends) {
    const ChannelEnd& end = *used.emplace_back(*shared);
    if (is_send) sends.push_back({&end.box_move(), end.is_remote(), end.words()});
    else receives.push_back({end.unpacking(), end.words()});
  }
  const std::chrono::seconds timeout = stream_timeout();
  return {stream.context(), is_captured, std::move(used),
          std::make_shared<pack::PreparedExchange>(stream, sends, receives, reduction, timeout)};
}

void drop() noexcept {
  const std::lock_guard lock(enqueued_mutex());
  drop_ended_exchanges();
}

}  // namespace

// The driver frees memory when all kernels have ended: not while one may wait for another process, or for a thread of
// this one. TEMPI cannot detect whether a graph runs.
void drop_ended_exchanges() {
  const auto is_running = [](const Known& one) {
    return one.is_captured ? !one.prepared->has_ended() : one.prepared->is_running();
  };
  if (all().retired.empty() || std::any_of(all().known.begin(), all().known.end(), is_running) ||
      std::any_of(all().retired.begin(), all().retired.end(), is_running))
    return;
  std::erase_if(all().retired, [](const Known& one) { return one.prepared->has_ended(); });
}

std::shared_ptr<pack::PreparedExchange> prepared_exchange(const device::Scope& stream, bool is_captured,
                                                          const std::vector<EnqueuedEnd>& ends,
                                                          const pack::TypedReduction* reduction) {
  drop_stream_exchanges.store(&drop, std::memory_order_release);
  auto& known = all().known;
  auto found = std::find_if(known.begin(), known.end(),
                            [&](const Known& one) { return one.is_of(stream.context(), is_captured, ends); });
  if (found == known.end()) {
    drop_ended_exchanges();
    known.push_front(make(stream, is_captured, ends, reduction));
  } else {
    if (found != known.begin()) std::rotate(known.begin(), found, found + 1);
  }
  return known.front().prepared;
}

void forget_exchanges_of(const ChannelEnd& end) noexcept {
  auto& [known, retired] = all();
  const auto uses_it = [&](const Known& one) {
    return std::any_of(one.ends.begin(), one.ends.end(), [&](const auto& its) { return its.get() == &end; });
  };
  const auto first = std::stable_partition(known.begin(), known.end(), [&](const Known& one) { return !uses_it(one); });
  std::move(first, known.end(), std::back_inserter(retired));
  known.erase(first, known.end());
  drop_ended_exchanges();
}

}  // namespace tempi::message
