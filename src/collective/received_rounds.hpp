// The rounds of a partitioned receive.
#pragma once

#include <memory>
#include <vector>

#include "collective/partitioned_rounds.hpp"

namespace tempi::collective {

class ReceivedRounds final : public PartitionedRounds {
 public:
  ReceivedRounds(message::Endpoint&& endpoint, device::Device& device, Handle comm, int peer, int tag, int n_partitions,
                 LibraryRound& library);

  // True: the partition is in the receive buffer. Nothing: no round is under way, or it is the
  // library's. Also true for a round that has failed: the completing call returns the error.
  std::optional<bool> has_arrived(int partition) noexcept;

 private:
  message::PartitionedEnd* end() const override { return end_.get(); }
  Way begin() override;
  Way way_of_receiver() override { return Way::puts; }
  void go_on_with_puts() override;
  bool is_receive() const override { return true; }
  bool are_puts_complete() override { return n_arrived_ == end_->n_sent(); }

  const int n_partitions_;
  std::vector<bool> arrived_{};  // by the sender's partition
  int n_arrived_ = 0;
  std::unique_ptr<message::PartitionedReceive> end_{};
};

}  // namespace tempi::collective
