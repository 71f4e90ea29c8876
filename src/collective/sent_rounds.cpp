#include "collective/sent_rounds.hpp"

#include <algorithm>
#include <mutex>

#include "collective/partitioned_work.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"

namespace tempi::collective {
namespace {

using message::PartitionRun;

// True: partitions that are ready may wait for the progress thread.
bool may_wait() { return message::may_have_progress_thread.load() && message::wake_progress_thread(); }

}  // namespace

SentRounds::SentRounds(message::Endpoint&& endpoint, device::Device& device, Handle comm, int peer, int tag,
                       int n_partitions, LibraryRound& library)
    : PartitionedRounds(std::move(endpoint), device, comm, peer, tag, library),
      partitions_(static_cast<std::size_t>(n_partitions)) {
  if (transfer_.transport.open_partitioned_send != nullptr)
    end_ = transfer_.transport.open_partitioned_send(comm, transfer_, n_partitions);
  if (end_) end_->is_connected();  // the other end may be there
}

SentRounds::Way SentRounds::begin() {
  if (announced_ == 0 && may_wait()) end_->announce(announced_ = round_ + 1);
  if (announced_ == 0 || round_ < announced_) return Way::library;
  std::fill(partitions_.begin(), partitions_.end(), Partition::filling);
  n_ready_ = n_put_ = 0;
  demands_library_ = !end_->begin(round_, is_same_buffer());
  return demands_library_ ? Way::library : Way::waiting;
}

SentRounds::Way SentRounds::way_of_receiver() {
  using Receiver = message::PartitionedSend::Receiver;
  const Receiver found = end_->receiver();
  if (found == Receiver::not_started) return Way::waiting;
  return found == Receiver::ready ? Way::puts : Way::demanded;
}

bool SentRounds::are_filling(const PartitionRun& run) const {
  const auto n = static_cast<std::int64_t>(partitions_.size());
  if (run.first < 0 || run.n <= 0 || std::int64_t{run.first} + run.n > n) return false;
  const auto first = partitions_.begin() + run.first;
  return std::all_of(first, first + run.n, [](Partition one) { return one == Partition::filling; });
}

std::optional<int> SentRounds::make_ready(std::span<const PartitionRun> runs) {
  const std::optional<int> code = note_ready(runs);
  if (code == MPI_SUCCESS && is_pending()) PartitionedWork::get().note_pending(*this, library_);
  return code;
}

std::optional<int> SentRounds::note_ready(std::span<const PartitionRun> runs) {
  const std::lock_guard lock(mutex_);
  if (!is_carried_here()) return {};
  is_same_buffer();
  for (const PartitionRun& run : runs) {
    if (!are_filling(run)) return MPI_ERR_ARG;
    std::fill_n(partitions_.begin() + run.first, run.n, Partition::ready);
    n_ready_ += run.n;
  }
  step(true);
  if (is_carried_here() && has_unput()) transfer_.packed_buffer.await_earlier();  // another call may put them
  return MPI_SUCCESS;
}

std::vector<PartitionRun> SentRounds::ready_runs() const {
  std::vector<PartitionRun> runs;
  for (int i = 0; i < static_cast<int>(partitions_.size()); ++i) {
    if (partitions_[static_cast<std::size_t>(i)] != Partition::ready) continue;
    if (!runs.empty() && runs.back().first + runs.back().n == i) ++runs.back().n;
    else runs.push_back({i, 1});
  }
  return runs;
}

void SentRounds::go_on_with_puts() {
  if (!has_unput()) return;
  const bool is_last = n_ready_ == static_cast<int>(partitions_.size());
  if (!is_last && end_->is_busy(n_ready_ - n_put_) && may_wait()) return;
  const std::vector<PartitionRun> runs = ready_runs();
  std::replace(partitions_.begin(), partitions_.end(), Partition::ready, Partition::put);
  n_put_ = n_ready_;
  end_->put(runs);
}

bool SentRounds::are_puts_complete() { return n_put_ == static_cast<int>(partitions_.size()) && end_->have_ended(); }

bool SentRounds::needs_other() const { return way_ != Way::puts; }

void SentRounds::make_library_ready() {
  for (const PartitionRun& run : ready_runs()) library_.make_ready(run.first, run.first + run.n - 1);
}

}  // namespace tempi::collective
