#include "stream/ordinary_exchange.hpp"

#include <mutex>

#include "base/error.hpp"
#include "base/function_ref.hpp"
#include "mpi/errors.hpp"
#include "mpi/real.hpp"
#include "request/completion.hpp"
#include "request/start.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksAtPeers{20};

bool has_lost_peer(const OrdinaryRequest& one) noexcept {
  return std::any_of(transports.begin(), transports.end(), [&](const Transport* its) {
    return its->has_lost_peer != nullptr && its->has_lost_peer(one.message.get(), one.request);
  });
}

// Of a call by the thread, which must not throw: the stream waits.
int code_of(const OrdinaryRequest& one, FunctionRef<int()> call) try { return call(); } catch (...) {
  return raise(comm_of(one), caught_error());
}

}  // namespace

bool OrdinaryExchange::advance() {
  if (!is_under_way_) {
    if (reached() <= n_ended) return false;
    is_under_way_ = true;
    n_started_ = 0;
  }
  const bool looks = looks_at_peers();
  bool moved = false;
  while (n_started_ < requests.size() && start_next()) moved = true;
  for (std::size_t i = 0; i < n_started_; ++i) {
    if (is_running_[i] == 0 || !query(*requests[i], looks)) continue;
    is_running_[i] = 0;
    moved = true;
  }
  if (n_started_ == requests.size() && std::count(is_running_.begin(), is_running_.end(), 1) == 0) end();
  return moved || !is_under_way_;
}

// False: another exchange of it, in another stream, has not ended.
bool OrdinaryExchange::start_next() {
  OrdinaryRequest& one = *requests[n_started_];
  {
    const std::lock_guard lock(enqueued_mutex());
    if (one.is_running) return false;
    one.is_running = !one.is_lost && (!one.is_freed || one.is_to_free);
  }
  is_running_[n_started_++] = one.is_running && start(one) ? 1 : 0;
  return true;
}

// False: it has ended.
bool OrdinaryExchange::start(OrdinaryRequest& one) {
  Slot slot(one.request);
  const int code = code_of(one, [&] { return start_for_stream(real_pmpi(), slot.data()); });
  return code == MPI_SUCCESS || !end_of(one, code);
}

bool OrdinaryExchange::query(OrdinaryRequest& one, bool looks_at_peer) {
  int flag = 0;
  MPI_Status status{};
  Slot slot(one.request);
  const int code = code_of(one, [&] { return test(real_pmpi(), slot.data(), &flag, &status); });
  if (code != MPI_SUCCESS || flag != 0) return end_of(one, code);
  if (!looks_at_peer || !has_lost_peer(one)) return false;
  const std::lock_guard lock(enqueued_mutex());
  one.is_running = false;
  return one.is_lost = true;
}

bool OrdinaryExchange::end_of(OrdinaryRequest& one, int code) {
  const std::lock_guard lock(enqueued_mutex());
  one.is_running = false;
  if (code != MPI_SUCCESS) one.failure = code;
  return true;
}

bool OrdinaryExchange::looks_at_peers() {
  const auto now = Clock::now();
  if (now - looked_at_peers_ < kBetweenLooksAtPeers) return false;
  looked_at_peers_ = now;
  return true;
}

void OrdinaryExchange::end() {
  is_under_way_ = false;
  const std::uint64_t n = n_ended + 1;
  std::atomic_ref(at().end.signal).store(n, std::memory_order_release);
  n_ended = n;
}

}  // namespace tempi::message
