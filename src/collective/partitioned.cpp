#include "collective/partitioned.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "base/recycled.hpp"
#include "collective/partitioned_message.hpp"
#include "device/device.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/handle.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

using message::ManagedRequests;
using message::Message;
using message::MessagePtr;
using message::MessageState;

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
  whole.roles.usual = given.direction == pack::Direction::pack ? kRead : kWritten;
  whole.stays_on_host = true;
  return whole;
}

using OverBuffer = FunctionRef<int(const void* buffer, Handle type)>;

int init(const Partitions& given, device::Device& device, OverBuffer library) {
  check(given.comm);
  const Argument whole = argument_of(given);
  if (!needs_staging(whole, given.comm, &device)) throw LeftToLibrary{};
  auto message = make_recycled<Message>(given.real, given.comm, message::Lifetime::programs);
  const auto made = std::make_shared<Partitioned>(given, whole, resolve(given.type, given.comm), *message, device);
  message->hook = made;
  store_handle(given.request, request_null());
  const GivenArgument& given_argument = made->staged().given_argument();
  const int code = library(given_argument.address, given_argument.type);
  message->request = load_handle(given.request);
  if (!is_made(code, message->request)) return code;
  count_call(given.function, message::outcome_of(made->staged().strategy()),
             static_cast<std::uint64_t>(made->staged().bytes()));
  all().add(message->request, made);
  ManagedRequests::get().manage(message);
  return code;
}

// Packs the runs that `pack` names, then tells the library.
template <class Pack>
int make_ready_packed(Handle request, const Pack& pack, FunctionRef<int()> library) noexcept {
  const PartitionedPtr sent = all().find(request);
  try {
    if (sent && sent->is_sent()) pack(*sent);
    else device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
  } catch (...) {
    return raise(sent ? sent->comm() : comm_self(), caught_error());
  }
  return library();
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
  count_call(given.function, Outcome::passed_faster);
  return library(given.buffer, given.type);
}

int make_ready(Handle request, int first, int last, FunctionRef<int()> library) noexcept {
  const auto pack = [&](const Partitioned& sent) {
    if (sent.has(first) && sent.has(last) && first <= last) sent.move(first, last);
  };
  return make_ready_packed(request, pack, library);
}

int make_ready(Handle request, int n, const int* partitions, FunctionRef<int()> library) noexcept {
  const auto pack = [&](const Partitioned& sent) {
    for (int i = 0; i < n; ++i) {
      if (sent.has(partitions[i])) sent.move(partitions[i], partitions[i]);
    }
  };
  return make_ready_packed(request, pack, library);
}

int has_arrived(Handle request, int partition, int* flag, FunctionRef<int()> library) noexcept {
  const PartitionedPtr received = all().find(request);
  if (!received || received->is_sent() || !received->has(partition)) return library();
  *flag = received->is_unpacked(partition) ? 1 : 0;
  if (*flag != 0) return MPI_SUCCESS;
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
