#include "collective/node_reduction.hpp"

#include "base/log.hpp"
#include "base/trace.hpp"
#include "collective/blocks.hpp"
#include "device/staging.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {
namespace {

constexpr std::int64_t kLeastBroadcastBytes = 2 << 20;

}  // namespace

bool NodeReduction::agree(const OwnBuffers& own, Gap& gap) {
  const bool is_agreed =
      buffers_.agree(own, consensus_.own_buffers(), [&](unsigned vote) { return consensus_.joined(vote); });
  gap.note_vote(!is_agreed);
  return is_agreed;
}

// Behind the agreement. Nothing: a kernel has failed, and the library can do the call on all members.
std::optional<int> NodeReduction::execute(const ReductionTask& task, const OwnBuffers& own, const Call& call,
                                          const Group& group) {
  std::optional<device::Staging> staged;
  bool is_done = false;
  try {
    if (task.is_staged() && task.count > 0)
      staged.emplace(*own.device, own.at.context, device::MemoryKind::device, task.bytes());
    is_done = trace::traced("reduce", [&] {
      return is_finished(
          own, [&](const device::Scope& here) { buffers_.launch(task, here, staged ? staged->data() : own.output); });
    });
  } catch (...) {
    warn_fallback("a reduction by a kernel has failed", caught_error().what());
  }
  const unsigned all =
      consensus_.joined((is_done ? 0 : ReductionVote::failed) | (task.may_lose_inputs() ? ReductionVote::is_lost : 0));
  buffers_.let_go();
  if ((all & ReductionVote::failed) != 0) {
    if ((all & ReductionVote::is_lost) == 0) return {};
    return raise(group.comm,
                 Error(ErrorKind::device, std::string(name(call.function)) + ": the kernel of a process has failed"));
  }
  if (staged) {
    const device::Scope here(*own.device, own.at.context);
    here.copy(own.output, staged->data(), static_cast<std::size_t>(task.bytes()));
    here.finish();
  }
  count_call(call.function, Outcome::taken_device, static_cast<std::uint64_t>(task.total_bytes()));
  return MPI_SUCCESS;
}

std::optional<int> NodeReduction::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const std::optional<ReductionTask> task = reduction_task(call.function, group, ends);
  if (!task) return {};
  Gap& gap = gaps_[place_of_reduction(call.function)];
  if (gap.is_between_votes()) return {};
  const OwnBuffers own = look_at_buffers(*task, ends.out.address, ends.in.address);
  return agree(own, gap) ? execute(*task, own, call, group) : std::optional<int>{};
}

std::optional<NodeReduction::Broadcast> NodeReduction::plan_broadcast(const Group& group, const Ends& ends) noexcept
    try {
  if (group.size < 3 || ends.in.count <= 0 || ends.root < 0 || ends.root >= group.size) return {};
  const KnownType& type = resolve(ends.in.type, group.comm);
  const std::int64_t bytes = ends.in.count * type.size();
  if (!type.is_dense || type.lower_bound != 0 || bytes < kLeastBroadcastBytes) return {};
  const ReductionTask task = broadcast_task(bytes, group, ends.root);
  const Broadcast planned{task, look_at_buffers(task, ends.in.address, ends.in.address)};
  if ((buffers_.published(planned.own, consensus_.own_buffers()) & ReductionVote::impossible) != 0) return {};
  buffers_.let_go();
  return planned;
} catch (...) {  // what the library refuses is told by the call
  return {};
}

std::optional<int> NodeReduction::carry_out(const Broadcast& planned, const Call& call, const Group& group) {
  if (!buffers_.all_reach_all(planned.own, [&](unsigned vote) { return consensus_.joined(vote); })) return {};
  return execute(planned.task, planned.own, call, group);
}

}  // namespace tempi::collective
