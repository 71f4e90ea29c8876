#include "stream/ordinary.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/function_ref.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "device/staging.hpp"
#include "device/stream_order.hpp"
#include "mpi/errors.hpp"
#include "request/completion.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"
#include "request/start.hpp"
#include "request/stream_work.hpp"
#include "stream/exchanges.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooksAtPeers{20};
constexpr std::chrono::microseconds kBetweenLooks{50};

struct Words {
  pack::EndWords end;
  alignas(pack::kLineBytes) std::uint64_t reached;
  std::uint32_t is_over;
};

// A request as the functions of MPI take it.
class Slot {
 public:
  explicit Slot(Handle request) { store_handle(bytes_, request); }
  void* data() { return bytes_; }

 private:
  alignas(std::max_align_t) char bytes_[kRequestBytes];
};

bool has_lost_peer(const OrdinaryRequest& one) noexcept {
  return std::any_of(transports.begin(), transports.end(), [&](const Transport* its) {
    return its->has_lost_peer != nullptr && its->has_lost_peer(one.message.get(), one.request);
  });
}

// Only if the program asks for it: while a stream waits for the thread, some functions of CUDA wait for the stream.
bool is_wanted() { return text(Option::PROGRESS) == "thread" && progress_mode() == ProgressMode::thread; }

Handle comm_of(const OrdinaryRequest& one) { return one.message ? one.message->comm : comm_world(); }

// By the thread, except where another lock or thread is named.
class OrdinaryExchange final : public ChannelEnd {
 public:
  OrdinaryExchange(const device::Scope& here, bool its_captured, std::vector<OrdinaryRequestPtr>&& its_requests)
      : is_captured(its_captured),
        context(here.context()),
        requests(std::move(its_requests)),
        memory_(here.device(), here.context(), device::MemoryKind::pinned, sizeof(Words)),
        is_running_(requests.size()) {
    std::memset(memory_.data(), 0, sizeof(Words));
  }

  State look(bool) noexcept override { return State::connected; }
  const std::string& why_closed() const noexcept override { return none_; }
  bool shares_gpu() const noexcept override { return false; }
  pack::ExchangeEnd words() const noexcept override { return {&at().end, &at().reached, &at().is_over, 0, 0}; }
  const pack::BoxMove& box_move() const noexcept override { return nothing_; }
  const pack::BoxMove* unpacking() const noexcept override { return nullptr; }
  bool is_remote() const noexcept override { return false; }
  bool is_lost() const noexcept override { return false; }

  bool is_of(device::Context its, bool its_captured, const std::vector<OrdinaryRequestPtr>& others) const {
    return !is_retired && context == its && is_captured == its_captured && requests == others;
  }
  bool has(const OrdinaryRequest& one) const {
    return std::any_of(requests.begin(), requests.end(), [&](const auto& its) { return its.get() == &one; });
  }

  // Any thread.
  bool is_queued() const { return reached() > n_ended || (!is_captured && n_launched > n_ended); }
  void end_waits() { std::atomic_ref(at().is_over).store(1, std::memory_order_release); }

  bool advance();

  const bool is_captured;
  const device::Context context;
  const std::vector<OrdinaryRequestPtr> requests;  // in the order in which they are started
  bool is_retired = false;                         // with the lock: no further launch will be found
  std::atomic<std::uint64_t> n_launched{0};        // outside of graphs
  std::atomic<std::uint64_t> n_ended{0};

 private:
  Words& at() const { return *reinterpret_cast<Words*>(memory_.data()); }
  std::uint64_t reached() const { return std::atomic_ref(at().reached).load(std::memory_order_acquire); }
  void end();
  bool start_next();
  bool start(OrdinaryRequest& one);
  bool query(OrdinaryRequest& one, bool looks_at_peer);
  bool end_of(OrdinaryRequest& one, int code);
  bool looks_at_peers();

  device::Staging memory_;
  std::vector<char> is_running_;
  std::size_t n_started_ = 0;
  bool is_under_way_ = false;
  Clock::time_point looked_at_peers_{};
  const pack::BoxMove nothing_{};
  const std::string none_{};
};

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

// Of a call by the thread, which must not throw: the stream waits.
int code_of(const OrdinaryRequest& one, FunctionRef<int()> call) try { return call(); } catch (...) {
  return raise(comm_of(one), caught_error());
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
  {
    const std::lock_guard lock(enqueued_mutex());
    const auto found = all().requests.find(key_of(request));
    if (found == all().requests.end()) return {};
    one = found->second;
    if (!one->message || !one->message->is_started_on_stream()) {
      all().requests.erase(found);
      one->is_freed = true;
      one->is_to_free = has_queued(*one);
      for (const auto& exchange : all().exchanges) {
        if (!exchange->has(*one)) continue;
        exchange->is_retired = true;
        forget_exchanges_of(*exchange);
      }
      if (!one->is_to_free) message = std::exchange(one->message, nullptr);
    }
  }
  if (!one->is_freed) return raise(comm_of(*one), MPI_ERR_REQUEST);
  if (one->is_to_free) return MPI_SUCCESS;
  drop_retired();
  return {};
}

void finish() noexcept {
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
  const std::lock_guard lock(enqueued_mutex());
  for (const auto& one : all().exchanges) {
    if (one->is_of(stream.context(), is_captured, requests)) return one;
  }
  return all().exchanges.emplace_back(std::make_shared<OrdinaryExchange>(stream, is_captured, std::move(requests)));
}

void note_launch(const std::shared_ptr<ChannelEnd>& exchange) noexcept {
  ++exchange_at(exchange).n_launched;
  wake_progress_thread();
}

void take_launch_back(const std::shared_ptr<ChannelEnd>& exchange) noexcept { --exchange_at(exchange).n_launched; }

int take_failure(OrdinaryRequest& request) {
  int code = MPI_SUCCESS;
  bool is_lost = false;
  {
    const std::lock_guard lock(enqueued_mutex());
    code = std::exchange(request.failure, MPI_SUCCESS);
    is_lost = request.is_lost;
  }
  if (!is_lost) return code;
  return raise(comm_of(request), Error(ErrorKind::unexpected, kPeerHasEnded));
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
