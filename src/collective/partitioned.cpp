#include "collective/partitioned.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "base/recycled.hpp"
#include "collective/stage.hpp"
#include "device/device.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/handle.hpp"
#include "mpi_config.h"
#include "request/engine.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

using message::Engine;
using message::Message;
using message::MessagePtr;
using message::MessageState;
using pack::Direction;

// Open MPI 5.0 asks for too few partitions of the sender where it has more of them than the receiver, and for one too
// many where it has fewer.
constexpr bool kArrivalsAreInexact = TEMPI_MPI_ABI_OPENMPI;

std::uint64_t digest_of(const std::byte* bytes, std::int64_t n) {
  std::uint64_t digest = 0;
  const auto add = [&](std::uint64_t word) { digest = (digest ^ word) * 0x9e37'79b9'7f4a'7c15 + (digest >> 29); };
  for (; n > 0; n -= 8, bytes += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, static_cast<std::size_t>(std::min<std::int64_t>(n, 8)));
    add(word);
  }
  return digest;
}

// Of a partition that is received.
enum class Bytes : std::uint8_t { packed, being_unpacked, unpacked };

class Partitioned final : public message::CompletionHook {
 public:
  Partitioned(const Partitions& given, const Argument& whole, const KnownType& type, Message& message,
              device::Device& device)
      : real_(given.real),
        comm_(given.comm),
        direction_(given.direction),
        n_(given.n),
        count_(given.count),
        prepared_(type.prepared),
        end_(pack::laid_out_end(prepared_->plan.layout, given.buffer, type.extent)),
        device_(device),
        staged_(whole, message, &device),
        bytes_(static_cast<std::size_t>(given.n)),
        digests_(kArrivalsAreInexact ? bytes_.size() : 0) {
    set_all(Bytes::unpacked);
  }

  const StagedArgument& staged() const { return staged_; }
  Handle comm() const { return comm_; }
  bool is_sent() const { return direction_ == Direction::pack; }
  bool has(int partition) const { return partition >= 0 && partition < n_; }

  int start(Message& message) noexcept override {
    set_all(Bytes::packed);
    const int code = message.mpi.MPI_Start(&message.request);
    if (code == MPI_SUCCESS) message.state.become(MessageState::started);
    else set_all(Bytes::unpacked);
    return code;
  }

  // The partitions first to last.
  void move(int first, int last) const {
    pack::End end = end_;
    end.address = end.at(first * count_ * end.extent);
    const std::int64_t count = (last - first + 1) * count_;
    end.place = pack::locate(end, count, device_);
    device::throw_failed_wait();
    const std::int64_t offset = first * count_ * end.layout->size;
    message::PackedBuffer({direction_, prepared_, count, end, staged_.strategy()}, &device_, staged_.from(offset))
        .move();
  }

  bool is_unpacked(int partition) { return at(partition).load(std::memory_order_acquire) == Bytes::unpacked; }

  // Whether the whole message has arrived.
  void ask_whole(Handle request, int* flag) const { real_.MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE); }

  // True: it is in the program's buffer. False: another thread is unpacking it.
  bool unpacks_early(int partition) {
    if (!is_begun_here(partition)) return is_unpacked(partition);
    if (kArrivalsAreInexact) digests_[static_cast<std::size_t>(partition)] = digest(partition);
    try {
      move(partition, partition);
    } catch (...) {
      set(partition, Bytes::packed);
      throw;
    }
    set(partition, Bytes::unpacked);
    return true;
  }

  // The whole message is unpacked with others, if none of its partitions has been before.
  bool begins_unpacking(Message& message) noexcept override {
    std::vector<int> begun;
    for (int i = 0; i < n_; ++i) {
      if (is_begun_here(i) || is_begun_again(i)) begun.push_back(i);
    }
    if (begun.size() == bytes_.size()) return true;
    for (std::size_t i = 0, next = 0; i < begun.size(); i = next) {
      for (next = i + 1; next < begun.size() && begun[next] == begun[next - 1] + 1;) ++next;
      try {
        move(begun[i], begun[next - 1]);
      } catch (...) {
        message.failure.emplace(caught_error());
      }
    }
    for (const int one : begun) set(one, Bytes::unpacked);
    return false;
  }
  void unpacked() noexcept override { set_all(Bytes::unpacked); }
  void await_unpacked() noexcept override {
    for (auto& one : bytes_) one.wait(Bytes::being_unpacked, std::memory_order_acquire);
  }

 private:
  std::atomic<Bytes>& at(int partition) { return bytes_[static_cast<std::size_t>(partition)]; }
  bool is_begun_here(int partition) {
    Bytes packed = Bytes::packed;
    return at(partition).compare_exchange_strong(packed, Bytes::being_unpacked, std::memory_order_acquire);
  }
  // More of it has arrived since it was unpacked.
  bool is_begun_again(int partition) {
    if (!kArrivalsAreInexact || !is_unpacked(partition)) return false;
    if (digests_[static_cast<std::size_t>(partition)] == digest(partition)) return false;
    set(partition, Bytes::being_unpacked);
    return true;
  }
  std::uint64_t digest(int partition) const {
    const std::int64_t n_bytes = count_ * end_.layout->size;
    const message::SharedRange packed = staged_.from(partition * n_bytes);
    return digest_of(packed.memory->data() + packed.offset, n_bytes);
  }
  void set(int partition, Bytes bytes) {
    at(partition).store(bytes, std::memory_order_release);
    at(partition).notify_all();
  }
  void set_all(Bytes bytes) {
    for (int i = 0; i < n_; ++i) set(i, bytes);
  }

  const Real& real_;
  const Handle comm_;
  const Direction direction_;
  const int n_;
  const Count count_;
  const pack::PreparedPtr prepared_;
  const pack::End end_;
  device::Device& device_;
  const StagedArgument staged_;
  std::vector<std::atomic<Bytes>> bytes_;
  std::vector<std::uint64_t> digests_;  // of partitions as they were unpacked early
};
using PartitionedPtr = std::shared_ptr<Partitioned>;

// By their requests: a call that waits for one has taken its message out of the engine. The library uses a handle again
// when the request is freed.
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
  whole.roles.usual = given.direction == Direction::pack ? kRead : kWritten;
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
  Engine::get().manage(message);
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
