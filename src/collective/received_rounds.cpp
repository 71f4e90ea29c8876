#include "collective/received_rounds.hpp"

#include <algorithm>
#include <mutex>

namespace tempi::collective {

using Arrived = message::PartitionedReceive::Arrived;

ReceivedRounds::ReceivedRounds(message::Endpoint&& endpoint, device::Device& device, Handle comm, int peer, int tag,
                               int n_partitions, LibraryRound& library)
    : PartitionedRounds(std::move(endpoint), device, comm, peer, tag, library), n_partitions_(n_partitions) {
  if (transfer_.transport.open_partitioned_receive != nullptr)
    end_ = transfer_.transport.open_partitioned_receive(comm, transfer_, n_partitions);
  if (end_) end_->is_connected();  // the other end may be there
}

ReceivedRounds::Way ReceivedRounds::begin() {
  const std::uint32_t first = end_->announced_round();
  if (first == 0 || round_ < first) return Way::library;
  demands_library_ = !is_same_buffer();
  transfer_.packed_buffer.await_earlier();  // the sender's kernels know nothing of streams of this process
  n_arrived_ = 0;
  arrived_.assign(static_cast<std::size_t>(end_->n_sent()), false);
  end_->report_start(round_, demands_library_);
  return demands_library_ ? Way::library : Way::puts;
}

void ReceivedRounds::go_on_with_puts() {
  for (Arrived next = end_->next_arrived(); next.what != Arrived::What::nothing; next = end_->next_arrived()) {
    if (next.what == Arrived::What::lost) throw Error(ErrorKind::device, "the sender's GPU has failed");
    if (next.what == Arrived::What::by_library) {
      way_ = Way::demanded;
      return;
    }
    std::fill_n(arrived_.begin() + next.run.first, next.run.n, true);
    n_arrived_ += next.run.n;
  }
}

std::optional<bool> ReceivedRounds::has_arrived(int partition) noexcept {
  const std::lock_guard lock(mutex_);
  step(true);
  if (!is_carried_here()) return {};
  if (failure_) return true;
  if (way_ != Way::puts) return false;
  const std::int64_t n_sent = end_->n_sent();
  const std::int64_t first = partition * n_sent / n_partitions_;
  const std::int64_t last = ((partition + 1) * n_sent - 1) / n_partitions_;
  return std::all_of(arrived_.begin() + first, arrived_.begin() + last + 1, [](bool is_there) { return is_there; });
}

}  // namespace tempi::collective
