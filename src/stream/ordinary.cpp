#include "stream/ordinary.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "device/stream_order.hpp"
#include "mpi/errors.hpp"
#include "request/completion.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"
#include "request/stream_work.hpp"
#include "stream/exchanges.hpp"
#include "stream/ordinary_exchange.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::microseconds kBetweenLooks{50};

// Only if the program asks for it: while a stream waits for the thread, some functions of CUDA wait for the stream.
bool is_wanted() { return text(Option::PROGRESS) == "thread" && progress_mode() == ProgressMode::thread; }

struct All {
  std::map<std::uint64_t, OrdinaryRequestPtr> requests;
  std::deque<std::shared_ptr<OrdinaryExchange>> exchanges;
};

// With the lock.
All& all() {
  static auto& the_all = *new All;  // never destroyed: kernels may run while the process exits
  return the_all;
}

std::vector<std::shared_ptr<OrdinaryExchange>> all_exchanges() {
  const std::lock_guard lock(enqueued_mutex());
  return {all().exchanges.begin(), all().exchanges.end()};
}

bool has_queued(const OrdinaryRequest& one) {
  return one.is_running || std::any_of(all().exchanges.begin(), all().exchanges.end(),
                                       [&](const auto& its) { return its->has(one) && its->is_queued(); });
}

// ---- the thread

// Those that the program has freed behind their last exchange.
void free_ended() {
  std::vector<OrdinaryRequestPtr> ended;
  {
    const std::lock_guard lock(enqueued_mutex());
    for (const auto& exchange : all().exchanges) {
      for (const OrdinaryRequestPtr& one : exchange->requests) {
        if (one->is_to_free && !has_queued(*one)) {
          one->is_to_free = false;
          ended.push_back(one);
        }
      }
    }
  }
  for (const OrdinaryRequestPtr& one : ended) {
    Slot slot(one->request);
    request_free(real_pmpi(), slot.data());
    one->message.reset();
  }
}

// Exchanges that neither a launch nor a graph will begin again.
void drop_retired() {
  const std::lock_guard lock(enqueued_mutex());
  std::erase_if(all().exchanges, [](const auto& one) {
    return one->is_retired && !one->is_queued() && (!one->is_captured || one.use_count() == 1) &&
           std::none_of(one->requests.begin(), one->requests.end(), [](const auto& its) { return its->is_to_free; });
  });
}

bool advance() noexcept try {
  const device::InPlaceOfStream here;
  bool moved = false;
  for (const auto& exchange : all_exchanges()) {
    if (exchange->is_queued() && exchange->advance()) moved = true;
  }
  if (moved) free_ended();
  if (moved) drop_retired();
  return moved;
} catch (...) {  // no memory: later
  return false;
}

bool is_any_queued() noexcept {
  const std::lock_guard lock(enqueued_mutex());
  return std::any_of(all().exchanges.begin(), all().exchanges.end(), [](const auto& one) { return one->is_queued(); });
}

// Nobody tells when a graph is launched.
bool is_left() noexcept {
  const std::lock_guard lock(enqueued_mutex());
  return std::any_of(all().exchanges.begin(), all().exchanges.end(),
                     [](const auto& one) { return one->is_captured || one->is_queued(); });
}

// ---- the program

std::optional<int> take_freed(Handle request) noexcept {
  OrdinaryRequestPtr one;
  MessagePtr message;
  bool thread_frees_it = false;
  {
    const std::lock_guard lock(enqueued_mutex());
    const auto found = all().requests.find(key_of(request));
    if (found == all().requests.end()) return {};
    one = found->second;
    if (!one->message || !one->message->is_started_on_stream()) {
      all().requests.erase(found);
      one->is_freed = true;
      one->is_to_free = thread_frees_it = has_queued(*one);
      for (const auto& exchange : all().exchanges) {
        if (!exchange->has(*one)) continue;
        exchange->tell_if_failed();  // the exchange may be gone before finish()
        exchange->is_retired = true;
        forget_exchanges_of(*exchange);
      }
      if (!thread_frees_it) message = std::exchange(one->message, nullptr);
    }
  }
  if (!one->is_freed) return raise(comm_of(*one), MPI_ERR_REQUEST);
  if (thread_frees_it) return MPI_SUCCESS;
  drop_retired();
  return {};
}

void finish() noexcept {
  for (const auto& exchange : all_exchanges()) exchange->tell_if_failed();
  while (is_any_queued() && wake_progress_thread()) std::this_thread::sleep_for(kBetweenLooks);
}

void end() noexcept {
  for (const auto& exchange : all_exchanges()) exchange->end_waits();
}

constinit const StreamWork kWork{advance, is_left, is_any_queued, take_freed, finish, end};

OrdinaryExchange& exchange_at(const std::shared_ptr<ChannelEnd>& end) { return static_cast<OrdinaryExchange&>(*end); }

}  // namespace

OrdinaryRequestPtr find_ordinary(Handle request) {
  const std::lock_guard lock(enqueued_mutex());
  const auto found = all().requests.find(key_of(request));
  return found != all().requests.end() ? found->second : nullptr;
}

void remember_ordinary(const AllStarted& started) {
  if (!is_wanted()) return;
  stream_work.store(&kWork, std::memory_order_release);
  device::streams_wait_for_calls = true;
  const std::lock_guard lock(enqueued_mutex());
  for (const Started& one : started) {
    OrdinaryRequestPtr& known = all().requests[key_of(one.request)];
    if (!known) known = std::make_shared<OrdinaryRequest>(one.request, one.message);
  }
}

std::string why_cpu_waits(const AllStarted& started) {
  if (!is_wanted()) return "TEMPI_PROGRESS=thread is not set, or the MPI library has no MPI_THREAD_MULTIPLE";
  for (const Started& one : started) {
    if (!find_ordinary(one.request)) return "it is the first exchange of a request";
    if (shares_gpu(one)) return "its peer uses the same GPU";
  }
  return wake_progress_thread() ? "" : "there is no thread";
}

void await_ordinary(const AllStarted& started) {
  for (const Started& one : started) {
    const OrdinaryRequestPtr known = find_ordinary(one.request);
    while (known && is_queued(*known) && wake_progress_thread()) std::this_thread::sleep_for(kBetweenLooks);
  }
}

std::shared_ptr<ChannelEnd> ordinary_exchange(const device::Scope& stream, bool is_captured,
                                              const AllStarted& started) {
  std::vector<OrdinaryRequestPtr> requests;
  requests.reserve(started.size());
  for (const Started& one : started) requests.push_back(find_ordinary(one.request));
  const auto find = [&]() -> std::shared_ptr<OrdinaryExchange> {  // with the lock
    const auto its = [&](const auto& one) { return one->is_of(stream.context(), is_captured, requests); };
    const auto found = std::find_if(all().exchanges.begin(), all().exchanges.end(), its);
    return found != all().exchanges.end() ? *found : nullptr;
  };
  {
    const std::lock_guard lock(enqueued_mutex());
    if (auto known = find()) return known;
  }
  // Without the lock: the driver may wait until the thread has ended another exchange.
  auto made = std::make_shared<OrdinaryExchange>(stream, is_captured, requests);
  const std::lock_guard lock(enqueued_mutex());
  if (auto known = find()) return known;
  return all().exchanges.emplace_back(std::move(made));
}

void note_launch(const std::shared_ptr<ChannelEnd>& exchange) noexcept {
  ++exchange_at(exchange).n_launched;
  wake_progress_thread();
}

void take_launch_back(const std::shared_ptr<ChannelEnd>& exchange) noexcept { --exchange_at(exchange).n_launched; }

int take_failure(OrdinaryRequest& request) {
  int code = MPI_SUCCESS;
  pack::Loss loss = pack::Loss::none;
  {
    const std::lock_guard lock(enqueued_mutex());
    code = std::exchange(request.failure, MPI_SUCCESS);
    loss = request.loss;
  }
  if (loss == pack::Loss::none) return tell_of_part(request.message.get(), code);
  return raise(comm_of(request), error_of_lost(request.message.get(), loss));
}

bool is_queued(const OrdinaryRequest& request) {
  const std::lock_guard lock(enqueued_mutex());
  return has_queued(request);
}

bool is_active(const OrdinaryRequest& request) {
  const std::lock_guard lock(enqueued_mutex());
  return !has_queued(request) && request.message->is_active();
}

}  // namespace tempi::message
