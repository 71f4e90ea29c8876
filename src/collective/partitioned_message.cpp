#include "collective/partitioned_message.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "collective/device_ready.hpp"
#include "collective/partitioned_work.hpp"
#include "collective/pending_work.hpp"
#include "collective/wait_until.hpp"
#include "device/stream_order.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {
namespace {

using message::Message;
using message::MessageState;

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

// A round of the library, of a send whose partitions kernels make ready: a call that waits looks at their words. The
// request is started when all partitions are packed, because Open MPI 5.0 may complete it too early, if the library
// makes progress while a partition is not ready. A thread that waits for the request starts it.
class DeferredRound final : public message::Continuation {
 public:
  explicit DeferredRound(std::shared_ptr<Partitioned> round) : round_(std::move(round)) {}

  bool has_ended(Message& message, bool waits) noexcept override try {
    const auto test = [&] { return round_->has_ended(message.start_code); };
    if (waits) round_->await(test);
    else if (!test()) return false;
    round_->note_end();
    return true;
  } catch (const Refused& refused) {
    message.start_code = refused.code;
    return true;
  } catch (...) {
    message.failure.emplace(caught_error());
    return true;
  }

 private:
  const std::shared_ptr<Partitioned> round_;
};

}  // namespace

Partitioned::Partitioned(const Partitions& given, const Argument& whole, const KnownType& type, Message& message,
                         device::Device& device)
    : real_(given.real),
      comm_(given.comm),
      direction_(given.direction),
      n_(given.n),
      peer_(given.peer),
      tag_(given.tag),
      count_(given.count),
      prepared_(type.prepared),
      end_(pack::laid_out_end(prepared_->plan.layout, given.buffer, type.extent)),
      device_(device),
      staged_(whole, message, &device),
      bytes_(static_cast<std::size_t>(given.n)),
      digests_(kArrivalsAreInexact ? bytes_.size() : 0) {
  set_all(Bytes::unpacked);
}

Partitioned::~Partitioned() {
  if (PartitionedRounds* const all = rounds()) PartitionedWork::get().forget(*all);
}

PartitionedRounds* Partitioned::rounds() const {
  return is_sent() ? static_cast<PartitionedRounds*>(sent_rounds_.get()) : received_rounds_.get();
}

void Partitioned::note_made(Handle request, bool may_be_put) {
  request_ = request;
  if (!may_be_put) return;
  message::Endpoint endpoint{direction_, prepared_, n_ * count_, end_, staged_.strategy()};
  endpoint.is_bare = endpoint.may_be_direct = true;
  endpoint.end.place = pack::locate(end_, endpoint.count, device_);
  if (is_sent())
    sent_rounds_ = std::make_unique<SentRounds>(std::move(endpoint), device_, comm_, peer_, tag_, n_, *this);
  else received_rounds_ = std::make_unique<ReceivedRounds>(std::move(endpoint), device_, comm_, peer_, tag_, n_, *this);
}

int Partitioned::start(Message& message) noexcept try {
  set_all(Bytes::packed);
  if (is_sent()) n_unready_.store(n_, std::memory_order_release);
  const int code = start_round(message);
  if (code != MPI_SUCCESS) note_end();
  else if (is_ready_by_kernels_.load(std::memory_order_acquire)) begin_pending_work(DeviceReady::is_left());
  return code;
} catch (...) {
  note_end();
  return raise(comm_, caught_error());
}

int Partitioned::start_round(Message& message) {
  if (PartitionedRounds* const all = rounds(); all != nullptr && all->start()) {
    message.continuation = std::shared_ptr<message::Continuation>(LibraryRound::shared_from_this(), all);
    message.state.become(MessageState::replaced);
    return MPI_SUCCESS;
  }
  if (is_ready_by_kernels_.load(std::memory_order_acquire)) {
    n_packed_.store(0, std::memory_order_relaxed);
    deferred_.store(Deferred::filling, std::memory_order_release);
    message.continuation = std::make_shared<DeferredRound>(std::static_pointer_cast<Partitioned>(shared_from_this()));
    message.state.become(MessageState::replaced);
    return MPI_SUCCESS;
  }
  const int code = message.mpi.MPI_Start(&message.request);
  if (code == MPI_SUCCESS) message.state.become(MessageState::started);
  return code;
}

int Partitioned::note_packed(int n) {
  if (n_packed_.fetch_add(n, std::memory_order_acq_rel) + n < n_) return MPI_SUCCESS;
  deferred_.store(Deferred::packed);
  return n_waiting_.load() > 0 ? MPI_SUCCESS : start_deferred();
}

int Partitioned::start_deferred() {
  Deferred packed = Deferred::packed;
  if (!deferred_.compare_exchange_strong(packed, Deferred::starting)) return MPI_SUCCESS;
  const LibraryHeld alone;
  int code = start_request();
  if (code == MPI_SUCCESS) code = real_.MPI_Pready_range(0, n_ - 1, request_);
  deferred_.store(Deferred::no, std::memory_order_release);
  return code;
}

void Partitioned::await(FunctionRef<bool()> has_ended) {
  struct Waiting {
    std::atomic<int>& n;
    explicit Waiting(std::atomic<int>& of) : n(of) { n.fetch_add(1); }
    ~Waiting() { n.fetch_sub(1); }
  } const waiting(n_waiting_);
  wait_until(Clock::time_point::max(), has_ended);
}

int Partitioned::start_request() { return real_.MPI_Start(&request_); }

void Partitioned::make_ready(int first, int last) {
  move(first, last);
  real_.MPI_Pready_range(first, last, request_);
}

bool Partitioned::has_ended(int& code) {
  if (has_unready()) return false;
  if (code = start_deferred(); code != MPI_SUCCESS) return true;
  if (is_deferred()) return false;
  int flag = 0;
  code = real_.MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS || !flag) return code != MPI_SUCCESS;
  if (is_sent()) return true;
  unpack(begin_rest());
  await_unpacked();  // of another thread, in MPI_Parrived
  return true;
}

void Partitioned::tell_status(MPI_Status& status) const noexcept {
  if (is_sent()) return;
  status.MPI_SOURCE = peer_;
  status.MPI_TAG = tag_;
  real_pmpi().MPI_Status_set_elements_x(&status, type_byte(), n_ * count_ * end_.layout->size);
}

void Partitioned::move(int first, int last) const {
  pack::End end = end_;
  end.address = end.at(first * count_ * end.extent);
  const std::int64_t count = (last - first + 1) * count_;
  end.place = pack::locate(end, count, device_);
  device::throw_failed_wait();
  const std::int64_t offset = first * count_ * end.layout->size;
  message::PackedBuffer({direction_, prepared_, count, end, staged_.strategy()}, &device_, staged_.from(offset)).move();
}

bool Partitioned::unpacks_early(int partition) {
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

bool Partitioned::begins_unpacking(Message& message) noexcept {
  std::vector<int> begun = begin_rest();
  if (begun.size() == bytes_.size()) return true;
  try {
    unpack(begun);
  } catch (...) {
    message.failure.emplace(caught_error());
  }
  return false;
}

std::vector<int> Partitioned::begin_rest() {
  std::vector<int> begun;
  for (int i = 0; i < n_; ++i) {
    if (is_begun_here(i) || is_begun_again(i)) begun.push_back(i);
  }
  return begun;
}

// Partitions whose unpacking fails count as unpacked: the program is told.
void Partitioned::unpack(const std::vector<int>& begun) {
  std::optional<Error> failure;
  for (std::size_t i = 0, next = 0; i < begun.size(); i = next) {
    for (next = i + 1; next < begun.size() && begun[next] == begun[next - 1] + 1;) ++next;
    try {
      move(begun[i], begun[next - 1]);
    } catch (...) {
      failure.emplace(caught_error());
    }
  }
  for (const int one : begun) set(one, Bytes::unpacked);
  if (failure) throw Error(*failure);
}

bool Partitioned::is_begun_again(int partition) {
  if (!kArrivalsAreInexact || !is_unpacked(partition)) return false;
  if (digests_[static_cast<std::size_t>(partition)] == digest(partition)) return false;
  set(partition, Bytes::being_unpacked);
  return true;
}

std::uint64_t Partitioned::digest(int partition) const {
  const std::int64_t n_bytes = count_ * end_.layout->size;
  const message::SharedRange packed = staged_.from(partition * n_bytes);
  return digest_of(packed.memory->data() + packed.offset, n_bytes);
}

}  // namespace tempi::collective
