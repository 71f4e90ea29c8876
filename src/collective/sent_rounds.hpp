// The rounds of a partitioned send.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/partitioned_rounds.hpp"

namespace tempi::collective {

class SentRounds final : public PartitionedRounds {
 public:
  SentRounds(message::Endpoint&& endpoint, device::Device& device, Handle comm, int peer, int tag, int n_partitions,
             LibraryRound& library);

  // The result of the program's call: MPI_SUCCESS, or the class of an error. Nothing: no round is under way, or it is
  // the library's. Throws Error.
  std::optional<int> make_ready(std::span<const message::PartitionRun> runs);

 private:
  enum class Partition : std::uint8_t { filling, ready, put };

  message::PartitionedEnd* end() const override { return end_.get(); }
  Way begin() override;
  Way way_of_receiver() override;
  void go_on_with_puts() override;
  bool are_puts_complete() override;
  bool has_unput() const override { return n_ready_ > n_put_; }
  void make_library_ready() override;
  bool needs_other() const override;
  std::optional<int> note_ready(std::span<const message::PartitionRun> runs);
  bool are_filling(const message::PartitionRun& run) const;
  std::vector<message::PartitionRun> ready_runs() const;

  std::vector<Partition> partitions_;
  int n_ready_ = 0, n_put_ = 0;
  std::uint32_t announced_ = 0;  // the first round of puts
  std::unique_ptr<message::PartitionedSend> end_{};
};

}  // namespace tempi::collective
