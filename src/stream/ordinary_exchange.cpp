#include "stream/ordinary_exchange.hpp"

#include <mutex>

#include "base/error.hpp"
#include "base/function_ref.hpp"
#include "base/options.hpp"
#include "mpi/errors.hpp"
#include "mpi/real.hpp"
#include "request/completion.hpp"
#include "request/start.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksAtPeers{20};

pack::Loss loss_of_peer(const OrdinaryRequest& one) noexcept {
  pack::Loss loss = pack::Loss::none;
  for (const Transport* const its : transports) {
    if (loss == pack::Loss::none && its->loss_of_peer != nullptr)
      loss = its->loss_of_peer(one.message.get(), one.request);
  }
  return loss;
}

// Empty: it is neither, or not known.
std::optional<bool> is_send(const OrdinaryRequest& one) noexcept {
  if (one.message && one.message->is_collective()) return {};
  if (one.message) return !one.message->outs.empty();
  for (const Transport* const its : transports) {
    if (const auto answer = its->is_send != nullptr ? its->is_send(one.request) : std::nullopt) return answer;
  }
  return {};
}

bool was_cancelled(const MPI_Status& status) noexcept {
  int flag = 0;
  return real_pmpi().MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag != 0;
}

// Both are true: the exchange has ended for it.
bool end_of(OrdinaryRequest& one, int code) {
  const std::lock_guard lock(enqueued_mutex());
  one.is_running = false;
  one.cancelled_because = pack::Loss::none;  // too late to cancel it
  if (code != MPI_SUCCESS) one.failure = code;
  return true;
}

bool lose(OrdinaryRequest& one, pack::Loss why) {
  const std::lock_guard lock(enqueued_mutex());
  one.is_running = false;
  one.loss = why;
  return true;
}

// Of a call by the thread, which must not throw: the stream waits.
int code_of(const OrdinaryRequest& one, FunctionRef<int()> call) try { return call(); } catch (...) {
  return raise(one.message ? one.message->comm : comm_world(), caught_error());
}

}  // namespace

bool OrdinaryExchange::advance() {
  const bool looks = looks_at_peers();
  if (looks) look_at_gpu();
  if (!is_under_way_) {
    if (reached() <= n_ended) {
      if (has_failed_) end_unreached();
      return has_failed_;
    }
    is_under_way_ = true;
    began_ = Clock::now();
    n_started_ = 0;
  }
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
    one.is_running = one.loss == pack::Loss::none && (!one.is_freed || one.is_to_free);
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
  if (flag != 0 && one.cancelled_because != pack::Loss::none && was_cancelled(status))
    return lose(one, one.cancelled_because);
  if (code != MPI_SUCCESS || flag != 0) return end_of(one, code);
  if (!looks_at_peer) return false;
  const pack::Loss of_peer = loss_of_peer(one), why = of_peer != pack::Loss::none ? of_peer : why_ended();
  return why != pack::Loss::none && give_up(one, why);
}

// True: the exchange has ended for it. The send buffer has been packed, or the library reads it later.
bool OrdinaryExchange::give_up(OrdinaryRequest& one, pack::Loss why) {
  const std::optional<bool> sends = is_send(one);
  const bool is_at_once = why == pack::Loss::peer_has_ended || (!sends && why != pack::Loss::timed_out);
  if (sends == true || is_at_once) return lose(one, why);
  if (!sends || std::exchange(one.cancelled_because, why) != pack::Loss::none) return false;
  Slot slot(one.request);
  static_cast<void>(code_of(one, [&] { return cancel(real_pmpi(), slot.data()); }));
  return false;
}

pack::Loss OrdinaryExchange::why_ended() const {
  if (has_failed_) return pack::Loss::has_failed;
  const std::chrono::seconds timeout = stream_timeout();
  return timeout.count() > 0 && Clock::now() - began_ >= timeout ? pack::Loss::timed_out : pack::Loss::none;
}

bool OrdinaryExchange::tell_if_failed() const noexcept {
  if (!device_.has_failed(context)) return false;
  for (const Transport* const its : transports) {
    if (its->note_failed_gpu != nullptr) its->note_failed_gpu();
  }
  return true;
}

void OrdinaryExchange::end_unreached() {
  const std::lock_guard lock(enqueued_mutex());
  for (const OrdinaryRequestPtr& one : requests) one->loss = pack::Loss::has_failed;
  n_ended = n_launched.load();
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
