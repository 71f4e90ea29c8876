#include "collective/partitioned.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "base/recycled.hpp"
#include "collective/device_ready.hpp"
#include "collective/partitioned_message.hpp"
#include "device/device.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/handle.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transport/transports.hpp"

namespace tempi::collective {
namespace {

using message::ManagedRequests;
using message::Message;
using message::MessagePtr;
using message::PartitionRun;
using Runs = std::span<const PartitionRun>;

// By their requests: a call that waits for one has taken its message out of ManagedRequests. The library uses a handle
// again when the request is freed.
class All {
 public:
  bool any() const { return n_.load(std::memory_order_relaxed) != 0; }

  void add(Handle request, const PartitionedPtr& made) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_request_, [](const auto& one) { return one.second.expired(); });
    by_request_.insert_or_assign(key_of(request), made);
    n_.store(by_request_.size(), std::memory_order_relaxed);
  }
  PartitionedPtr find(Handle request) {
    if (!any()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = by_request_.find(key_of(request));
    return found != by_request_.end() ? found->second.lock() : nullptr;
  }

 private:
  std::atomic<std::size_t> n_{0};
  Mutex<Lock::partitioned> mutex_;
  std::unordered_map<Handle, std::weak_ptr<Partitioned>> by_request_;
};

All& all() {
  static auto& requests = *new All;  // never destroyed: threads may use requests while the process exits
  return requests;
}

device::Device* device_for(const Partitions& given) {
  const bool may_be_ours = active() && !message::is_switched_off() && given.request != nullptr && given.n > 0 &&
                           given.count > 0 && given.peer != MPI_PROC_NULL;
  return may_be_ours ? device::current() : nullptr;
}

Argument argument_of(const Partitions& given) {
  Count count = 0;
  if (__builtin_mul_overflow(given.count, given.n, &count)) throw LeftToLibrary{};
  Argument whole = buffer_of(given.buffer, count, given.type);
  whole.n_blocks = 1;
  whole.roles.usual = given.is_sent() ? kRead : kWritten;
  whole.stays_on_host = true;
  return whole;
}

// A kernel of the sender may write the partitions into the receive buffer, as far as this end knows.
bool may_be_put(const Partitions& given, const KnownType& type) {
  const pack::Repeat all{given.n * given.count, type.extent};
  const message::Shape shape{device::MemoryKind::device,
                             pack::is_plain_copy(*type.plan, all),
                             message::features_of(*type.plan, all),
                             type.plan->traffic.is_indexed,
                             given.comm,
                             given.peer,
                             type.is_moved_wrongly};
  return message::has_transport() && message::choose(shape).may_be_direct;
}

// The library carries the request, which counts in the pairing.
void note_librarys(const Partitions& given) noexcept {
  if (!message::has_transport() || given.peer < 0) return;
  const message::Transport& transport = message::transport_to(given.comm, given.peer);
  if (transport.skip_partitioned != nullptr)
    transport.skip_partitioned(given.comm, given.peer, given.tag, given.is_sent());
}

using OverBuffer = FunctionRef<int(const void* buffer, Handle type)>;

int init(const Partitions& given, device::Device& device, OverBuffer library) {
  check(given.comm);
  const Argument whole = argument_of(given);
  if (!needs_staging(whole, given.comm, &device)) throw LeftToLibrary{};
  auto message = make_recycled<Message>(given.real, given.comm, message::Lifetime::programs);
  const KnownType& type = resolve(given.type, given.comm);
  const auto made = std::make_shared<Partitioned>(given, whole, type, *message, device);
  message->hook = made;
  store_handle(given.request, request_null());
  const GivenArgument& given_argument = made->staged().given_argument();
  const int code = library(given_argument.address, given_argument.type);
  message->request = load_handle(given.request);
  if (!is_made(code, message->request)) return code;
  count_call(given.function, message::outcome_of(made->staged().strategy()),
             static_cast<std::uint64_t>(made->staged().bytes()));
  const bool may_put = may_be_put(given, type);
  made->note_made(message->request, may_put);
  if (!may_put) note_librarys(given);
  all().add(message->request, made);
  ManagedRequests::get().manage(message);
  return code;
}

// Packs the partitions, then tells the library.
int make_ready_packed(const PartitionedPtr& sent, Runs runs, FunctionRef<int()> library) {
  if (!sent) device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
  bool is_deferred = false;
  for (const PartitionRun& run : runs) {
    const int last = run.first + run.n - 1;
    const bool is_sound = run.n > 0 && (!sent || (sent->has(run.first) && sent->has(last)));
    if (sent && is_sound) sent->move(run.first, last);
    if (!sent || !sent->is_deferred()) continue;
    const int code = is_sound ? sent->note_packed(run.n) : raise(sent->comm(), MPI_ERR_ARG);
    if (code != MPI_SUCCESS) return code;
    is_deferred = true;
  }
  return is_deferred ? MPI_SUCCESS : library();
}

int make_ready(Handle request, Runs runs, FunctionRef<int()> library) noexcept {
  PartitionedPtr sent = all().find(request);
  if (sent && !sent->is_sent()) sent = nullptr;
  if (sent) sent->note_ready(runs);
  try {
    SentRounds* const rounds = sent ? sent->sent_rounds() : nullptr;
    const std::optional<int> code = rounds != nullptr ? rounds->make_ready(runs) : std::nullopt;
    if (!code) return make_ready_packed(sent, runs, library);
    return *code == MPI_SUCCESS ? MPI_SUCCESS : raise(sent->comm(), *code);
  } catch (...) {
    return raise(sent ? sent->comm() : comm_self(), caught_error());
  }
}

}  // namespace

int init_partitioned(const Partitions& given, OverBuffer library) noexcept {
  device::Device* const device = device_for(given);
  try {
    if (device != nullptr) return init(given, *device, library);
  } catch (const Refused& refused) {
    return refused.code;
  } catch (const LeftToLibrary&) {
  } catch (...) {
    return raise(given.comm, caught_error());
  }
  count_call(given.function, Outcome::passed_to_library);
  const int code = library(given.buffer, given.type);
  if (code == MPI_SUCCESS) note_librarys(given);
  return code;
}

int make_ready(Handle request, int first, int last, FunctionRef<int()> library) noexcept {
  const PartitionRun run{first, last - first + 1};
  return make_ready(request, {&run, 1}, library);
}

int make_ready(Handle request, int n, const int* partitions, FunctionRef<int()> library) noexcept {
  std::vector<PartitionRun> runs;
  for (int i = 0; partitions != nullptr && i < n; ++i) runs.push_back({partitions[i], 1});
  return make_ready(request, runs, library);
}

std::uint32_t* words_of_kernels(Handle request, int& n) {
  const PartitionedPtr sent = all().find(request);
  if (!sent || !sent->is_sent() || sent->has_unready()) return nullptr;
  n = sent->n();
  return DeviceReady::get().open(request, sent);
}

int has_arrived(Handle request, int partition, int* flag, FunctionRef<int()> library) noexcept {
  const PartitionedPtr received = all().find(request);
  if (!received || received->is_sent() || !received->has(partition)) return library();
  *flag = received->is_unpacked(partition) ? 1 : 0;
  if (*flag != 0) return MPI_SUCCESS;
  ReceivedRounds* const rounds = received->received_rounds();
  if (const auto is_put = rounds != nullptr ? rounds->has_arrived(partition) : std::nullopt) {
    *flag = *is_put ? 1 : 0;
    return MPI_SUCCESS;
  }
  try {
    const int code = library();
    if (code != MPI_SUCCESS) return code;
    if (*flag == 0 && kArrivalsAreInexact) received->ask_whole(request, flag);
    if (*flag != 0) *flag = received->unpacks_early(partition) ? 1 : 0;
    return code;
  } catch (...) {
    return raise(received->comm(), caught_error());
  }
}

}  // namespace tempi::collective
