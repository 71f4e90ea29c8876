// Reductions of GPU memory among the processes of a node: each process reads its slice of all inputs and reduces it in
// the order of the ranks, in one kernel, which writes the result into the outputs that need it. The members of a
// communicator agree before the launch and vote again when their kernels are complete (collective/consensus.hpp).
//
// Glossary
//   slice   the scalars that a process reduces: a part of them in MPI_Allreduce and MPI_Reduce, the process's own block
//           in MPI_Reduce_scatter, all in MPI_Scan
//   input   the buffer of a process that is reduced: its send buffer, with MPI_IN_PLACE its receive buffer
//   output  a receive buffer
//
// A large MPI_Bcast is such a reduction, too: of one input, the root's. Each other process fetches its slice and passes
// it on to the others, so that all links carry a part.
//
// Example: MPI_Allreduce of 1000 doubles among 4 processes. Process 1 reads scalars 256 to 511 of the four inputs, adds
// them as ((i0 + i1) + i2) + i3, and stores the sums into scalars 256 to 511 of the four outputs.
//
// Invariants
//   Every process reads a scalar of the inputs before its place in an output is written: by the same thread where the
//   inputs are outputs (MPI_Allreduce, MPI_Reduce); elsewhere the result waits in memory of its own (`staged`) until
//   all kernels are complete.
//   The result of a scalar is computed once: all processes have the same bits, in every run.
//   A process writes its description of buffers only when all others have read the last one: before its next vote.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "collective/consensus.hpp"
#include "collective/gap.hpp"
#include "collective/reduced.hpp"
#include "collective/run.hpp"
#include "transport/ipc/imports.hpp"

namespace tempi::collective {

inline constexpr std::array kNodeReductions{Function::MPI_Allreduce,      Function::MPI_Reduce,
                                            Function::MPI_Reduce_scatter, Function::MPI_Reduce_scatter_block,
                                            Function::MPI_Scan,           Function::MPI_Exscan};

constexpr bool is_node_reduction(Function function) {
  for (const Function one : kNodeReductions) {
    if (one == function) return true;
  }
  return false;
}

class NodeReduction {
 public:
  // The share of this process in a call. It is the same on all members but for the slice, the inputs and the place.
  struct Task {
    Reduced reduced;
    Count total;                        // scalars of an input
    Count first, count;                 // the slice
    std::size_t first_input, n_inputs;  // processes that follow each other
    enum class To : std::uint8_t { all, root, all_but_root, own } to;
    std::size_t root;
    bool is_in_place, has_output;

    std::int64_t offset() const { return reduced.bytes_of(first); }
    std::int64_t bytes() const { return reduced.bytes_of(count); }
    bool is_staged() const { return is_in_place && to == To::own; }
    // A kernel that fails may leave inputs that are reduced in part.
    bool may_lose_inputs() const { return is_in_place && to != To::own && to != To::all_but_root; }
  };
  // The buffers of this process, in memory of one GPU.
  struct Own {
    device::Device* device = nullptr;
    device::Location at{};  // of the input
    const void* input = nullptr;
    void* output = nullptr;
    unsigned vote = 0;
  };
  // A broadcast in slices, as this process would carry it out.
  struct Broadcast {
    Task task;
    Own own;
  };

  // Behind a successful round. The consensus must outlive the object.
  explicit NodeReduction(Consensus& consensus);

  // Nothing: the call is the library's on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

  // Before a vote on MPI_Bcast. Nothing: this process cannot, or the messages of the root are as fast.
  std::optional<Broadcast> plan_broadcast(const Group& group, const Ends& ends) noexcept;
  // Behind it, if all have planned. Nothing: it must go another way on all members.
  std::optional<int> carry_out(const Broadcast& planned, const Call& call, const Group& group);

 private:
  // As kernels of this process reach them.
  struct Addresses {
    std::uintptr_t input, output;
  };

  std::optional<Task> task_of(const Call& call, const Group& group, const Ends& ends) const;
  static void choose_slice(Task& task, Function function, const Group& group, const Ends& ends);
  Own look(const Task& task, const Ends& ends) noexcept;
  bool describe(const Task& task, const Ends& ends, Own& own);
  void publish(const Own& own, const ipc::ReducedBuffers& buffers);
  bool map_all(const Own& own) noexcept;
  std::uintptr_t map(const Own& own, std::size_t member, const ipc::ReducedBuffer& buffer);
  bool all_reach_all(const Own& own);
  bool agree(const Own& own, Gap& gap);
  std::optional<int> execute(const Task& task, const Own& own, const Call& call, const Group& group);
  bool reduce(const Task& task, const Own& own, void* result) noexcept;
  void launch(const Task& task, const device::Scope& here, void* result) const;

  Consensus& consensus_;
  std::array<Gap, kNodeReductions.size()> gaps_{};
  bool is_known_ = false;  // all members have mapped what this one has described
  device::Context context_ = nullptr;
  std::vector<Addresses> addresses_;  // of the members
  message::Mappings mappings_;        // of their memory
};

}  // namespace tempi::collective
