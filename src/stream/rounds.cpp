#include "stream/rounds.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace tempi::message {
namespace {

// With the lock "enqueued".
LastUse& last_of_rounds() {
  static auto& last = *new LastUse;  // never destroyed: its mark belongs to the device
  return last;
}

}  // namespace

std::vector<Round> rounds_of(AllStarted& all) {
  const auto has_rounds = [](const Started& one) { return one.rounds != nullptr; };
  std::vector<Round> rounds(1);
  if (std::none_of(all.begin(), all.end(), has_rounds)) {
    rounds.front().parts = std::move(all);
    return rounds;
  }
  AllStarted first;
  for (Started& one : all) {
    if (!one.rounds) first.push_back(std::move(one));
    else if (one.parts.size() == 1) std::move(one.parts[0].begin(), one.parts[0].end(), std::back_inserter(first));
  }
  rounds.front().parts = std::move(first);
  for (Started& one : all) {
    for (std::size_t i = 0; one.parts.size() > 1 && i < one.parts.size(); ++i)
      rounds.push_back({one.rounds.get(), i, std::move(one.parts[i])});
  }
  return rounds;
}

void come_after_rounds(const device::Scope& stream, device::StreamHandle handle) {
  LastUse last;
  {
    const std::lock_guard lock(enqueued_mutex());
    last = last_of_rounds();
  }
  come_after(stream, handle, last);
}

void note_round(const LastUse& exchange) {
  const std::lock_guard lock(enqueued_mutex());
  last_of_rounds() = exchange;
}

}  // namespace tempi::message
