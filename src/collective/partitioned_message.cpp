#include "collective/partitioned_message.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "device/stream_order.hpp"

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

}  // namespace

Partitioned::Partitioned(const Partitions& given, const Argument& whole, const KnownType& type, Message& message,
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

int Partitioned::start(Message& message) noexcept {
  set_all(Bytes::packed);
  const int code = message.mpi.MPI_Start(&message.request);
  if (code == MPI_SUCCESS) message.state.become(MessageState::started);
  else set_all(Bytes::unpacked);
  return code;
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
