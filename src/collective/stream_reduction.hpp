// A persistent reduction in the order of a stream of the program (request/stream_rounds.hpp).
//
//     round 0   each process sends slices of its input to the processes that reduce them, into memory of TEMPI
//     round 1   a kernel of each process reduces its slice, in the order of the ranks; for a small slice, the kernel of
//               the exchange of round 0 does this. If there are two steps, each process then sends its result to the
//               outputs that need it
//     round 2   exchanges nothing: it marks the end of the use of the memory of TEMPI
//
// In one step, each process that has an output reduces all scalars of it. In two steps, each process reduces one part
// of the scalars. One step moves more bytes; two steps wait for the other processes twice. Two processes that reduce to
// one of them move as many bytes in one step, but all in one direction. collective/reduction_steps.hpp has the choice.
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
  // `ends` are described. `in_two_steps`: as all members have agreed.
  SlicesOfMembers(const ReductionTask& task, Function function, const Group& group, const Ends& ends,
                  bool in_two_steps);

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
  const void* input;
  void* output;                          // null: this process has none
  device::Location input_at, output_at;  // in device memory
};

// False: the operation needs too much memory of TEMPI. All members get the same answer.
bool may_be_on_stream(const StreamReductionCall& call);

class StreamReduction final : public message::StreamRounds {
 public:
  // Its messages use two tags, from `tag` on. Throws Error and Refused.
  StreamReduction(const StreamReductionCall& call, std::shared_ptr<OwnComm> comm, int tag);
  ~StreamReduction() override;

  std::size_t n_rounds() const override { return rounds_.size() + 1; }
  device::Context context() const override { return input_at_.context; }
  std::vector<Handle> requests(std::size_t round) const override {
    return round < rounds_.size() ? rounds_[round]->requests(0) : std::vector<Handle>{};
  }
  const pack::TypedReduction* reduction_in(std::size_t round) const override {
    return round == 0 && in_exchange_ ? &*in_exchange_ : nullptr;
  }
  void queue_kernels(std::size_t round, const device::Scope& stream, device::StreamHandle handle,
                     bool is_reduced) override;
  // False: the program has freed a buffer.
  bool has_buffers() const;

 private:
  const std::shared_ptr<OwnComm> comm_;
  device::Device* const device_;
  const device::Location input_at_, output_at_;
  const bool has_output_;
  std::optional<pack::TypedReduction> reduction_{};    // nothing: there is nothing to reduce
  std::optional<pack::TypedReduction> in_exchange_{};  // the same, if all slices are small
  std::shared_ptr<device::Staging> memory_{};          // null: it needs none
  std::array<std::optional<Schedule>, 2> rounds_{};
  device::StreamHandle last_ = nullptr;  // the stream of the last execution outside of graphs
  device::MarkPtr last_use_{};           // of the memory, in that stream
  bool is_in_graph_ = false;
};

}  // namespace tempi::collective
