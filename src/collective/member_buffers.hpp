// The buffers of a reduction on all members of a communicator, and their addresses for kernels of this process.
//
// Invariant
//   A process writes the description of its buffers only when all others have read the previous description.
#pragma once

#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "collective/consensus.hpp"
#include "collective/reduction_task.hpp"
#include "sharing/imports.hpp"

namespace tempi::collective {

struct ReductionVote {
  // The bits of a vote before the kernels: the input is in GPU memory; this process cannot take part; a persistent
  // reduction has two steps on a stream; the others have not mapped its buffers yet.
  static constexpr unsigned on_gpu = 1, impossible = 2, in_two_steps = 4, is_new = 8;
  // The bits of a vote after the kernels: the kernel has failed; its inputs may be overwritten.
  static constexpr unsigned failed = 1, is_lost = 2;
};
inline bool are_by_kernels(unsigned votes) {
  return (votes & ReductionVote::on_gpu) != 0 && (votes & ReductionVote::impossible) == 0;
}

// The buffers of this process, in memory of one GPU.
struct OwnBuffers {
  device::Device* device = nullptr;
  device::Location at{};  // of the input
  const void* input = nullptr;
  void* output = nullptr;
  ipc::ReducedBuffers described{};
  unsigned vote = 0;
};

// `sent` and `received` are the program's buffers. The vote says whether kernels of other processes can access them.
// May wait for the program's streams.
OwnBuffers look_at_buffers(const ReductionTask& task, const void* sent, const void* received) noexcept;

// Queues work in the context of the buffers, and waits for it. False: it has failed, and no work of it runs.
bool is_finished(const OwnBuffers& own, FunctionRef<void(const device::Scope& here)> queue) noexcept;

class MemberBuffers {
 public:
  explicit MemberBuffers(const Consensus& consensus) : consensus_(consensus), addresses_(consensus.size()) {}

  // Describes the buffers to the others. False: a member has not mapped them yet, or this process has not mapped the
  // buffers of a member.
  bool publish(const OwnBuffers& own, ipc::ReducedBuffers& last);
  using Described = FunctionRef<const ipc::ReducedBuffers&(std::size_t member)>;
  // False: this process cannot access some of the buffers.
  bool map_all(const OwnBuffers& own, Described described) noexcept;
  // A vote of all members, joined by "or".
  using Joined = FunctionRef<unsigned(unsigned own)>;
  // Returns the first vote of this process on a call. If this process can take part, calls publish().
  unsigned published(const OwnBuffers& own, ipc::ReducedBuffers& last);
  // Maps the buffers of all members, and votes. True: each member reaches the buffers of all
  // others. Without `described`, the descriptions are those in Consensus.
  bool all_reach_all(const OwnBuffers& own, Described described, Joined joined);
  bool all_reach_all(const OwnBuffers& own, Joined joined);
  // Holds the votes before the kernels. True: all members take part, and reach each other's
  // buffers.
  bool agree(const OwnBuffers& own, ipc::ReducedBuffers& last, Joined joined);
  // Records whether all members have mapped the buffers that were described last.
  void note_mapped(bool by_all) { is_known_ = by_all; }
  void let_go() { mappings_.let_go(); }

  // The kernel of this process. `result`, if given, is used in place of its output.
  void launch(const ReductionTask& task, const device::Scope& here, void* result) const;
  // A place for a result: `offset` bytes behind the beginning of a member's output.
  struct Target {
    std::size_t member;
    std::int64_t offset;
  };
  // Copies the scalars at `from` to all targets.
  void spread(const Reduced& reduced, const device::Scope& here, const void* from, Count count,
              std::span<const Target> targets) const;

 private:
  struct Addresses {
    std::uintptr_t input, output;
  };

  std::uintptr_t map(const OwnBuffers& own, std::size_t member, const ipc::ReducedBuffer& buffer);

  const Consensus& consensus_;
  bool is_known_ = false;
  device::Context context_ = nullptr;
  std::vector<Addresses> addresses_;
  message::Mappings mappings_;
};

}  // namespace tempi::collective
