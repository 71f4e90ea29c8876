#include "stream/exchanges.hpp"

#include <algorithm>
#include <deque>
#include <iterator>

#include "pack/exchange.hpp"

namespace tempi::message {
namespace {

struct Known {
  device::Context context;
  bool is_captured;
  std::vector<EnqueuedEnd> ends;
  std::unique_ptr<pack::PreparedExchange> prepared;

  bool is_of(const device::Scope& stream, const std::vector<EnqueuedEnd>& others) const {
    const auto is_same = [](const EnqueuedEnd& one, const EnqueuedEnd& other) { return one.end == other.end; };
    return context == stream.context() && is_captured == stream.is_capturing() &&
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

Known make(const device::Scope& stream, const std::vector<EnqueuedEnd>& ends) {
  std::vector<pack::ExchangedSend> sends;
  std::vector<pack::ExchangeEnd> receives;
  for (const auto& [end, is_send] : ends) {
    if (is_send) sends.push_back({&end->box_move(), end->is_remote(), end->words()});
    else receives.push_back(end->words());
  }
  return {stream.context(), stream.is_capturing(), ends, std::make_unique<pack::PreparedExchange>(stream, sends, receives)};
}

void drop_ended() {
  std::erase_if(all().retired, [](const Known& one) { return one.prepared->has_ended(); });
}

}  // namespace

void queue_exchange(const device::Scope& stream, const std::vector<EnqueuedEnd>& ends) {
  auto& known = all().known;
  auto found = std::find_if(known.begin(), known.end(), [&](const Known& one) { return one.is_of(stream, ends); });
  if (found == known.end()) {
    drop_ended();
    known.push_front(make(stream, ends));
  } else {
    std::rotate(known.begin(), found, found + 1);
  }
  known.front().prepared->launch(stream);
}

void forget_exchanges_of(const ChannelEnd& end) noexcept {
  auto& [known, retired] = all();
  const auto uses_it = [&](const Known& one) {
    return std::any_of(one.ends.begin(), one.ends.end(), [&](const EnqueuedEnd& its) { return its.end.get() == &end; });
  };
  const auto first = std::stable_partition(known.begin(), known.end(), [&](const Known& one) { return !uses_it(one); });
  std::move(first, known.end(), std::back_inserter(retired));
  known.erase(first, known.end());
  drop_ended();
}

}  // namespace tempi::message
