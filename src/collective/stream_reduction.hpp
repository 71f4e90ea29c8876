// A persistent reduction in the order of a stream of the program (request/stream_rounds.hpp).
//
//     round 0   each process sends slices of its input to the processes that reduce them, into memory of TEMPI
//     round 1   a kernel of each process reduces its slice, in the order of the ranks. The slices of two steps are then
//               sent to the outputs that need them
//
// In one step, each process that has an output reduces all scalars of it. In two steps, each process reduces one part
// of the scalars. One step moves more bytes; two steps wait for the other processes twice.
//
// Example: MPI_Allreduce of 1000 doubles among 4 processes, in two steps. Process 1 receives scalars 256 to 511 of the
// three other inputs, reduces them with its own, and sends the result to the three other outputs.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collective/own_comm.hpp"
#include "collective/reduction_task.hpp"
#include "collective/schedule.hpp"
#include "device/staging.hpp"
#include "request/stream_rounds.hpp"

namespace tempi::collective {

// Scalars of an input.
struct Slice {
  Count first = 0, count = 0;
};

// The slices that the members reduce: the same on all members.
struct SlicesOfMembers {
  // `ends` are described.
  SlicesOfMembers(const ReductionTask& task, Function function, const Group& group, const Ends& ends);

  // True: the member reduces scalars of this input, which is another member's or its own.
  bool uses(std::size_t member, std::size_t input) const {
    return slices[member].count > 0 && (!is_prefix || input <= member) && (!is_exclusive || input < member);
  }

  std::vector<Slice> slices;
  bool is_prefix, is_exclusive;   // MPI_Scan and MPI_Exscan; MPI_Exscan
  bool are_in_two_steps = false;  // the slices are parts of one result
};

// The data of the call.
struct StreamReductionCall {
  ReductionTask task;
  SlicesOfMembers members;
  std::size_t rank;
  Handle type;
  const void* input;  // in device memory
  void* output;       // in device memory; null: this process has none
};

class StreamReduction final : public message::StreamRounds {
 public:
  // Its messages use two tags, from `tag` on. Throws Error and Refused.
  StreamReduction(const StreamReductionCall& call, std::shared_ptr<OwnComm> comm, int tag);
  ~StreamReduction() override;

  std::size_t n_rounds() const override { return rounds_.size(); }
  device::Context context() const override { return context_; }
  std::vector<Handle> requests(std::size_t round) const override { return rounds_[round]->requests(0); }
  void queue_kernels(std::size_t round, const device::Scope& stream, const device::ProgramStream& own) override;

 private:
  const std::shared_ptr<OwnComm> comm_;
  device::Device* device_;
  device::Context context_;
  const pack::ScalarType scalar_;
  pack::GroupReduction reduction_{};
  std::shared_ptr<device::Staging> memory_{};  // null: it needs none
  std::array<std::optional<Schedule>, 2> rounds_{};
  std::optional<device::ProgramStream> last_{};  // in which a kernel has used the memory
  bool is_in_graph_ = false;
};

}  // namespace tempi::collective
