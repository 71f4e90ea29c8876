#include "collective/spanning_reduction.hpp"

#include <algorithm>
#include <bit>
#include <climits>

#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "collective/blocks.hpp"
#include "model/strategy.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "peer/ids.hpp"
#include "peer/peer.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

using To = ReductionTask::To;

constexpr std::chrono::milliseconds kRoundLasts{1000};

bool may_span(Function function) {
  return function == Function::MPI_Allreduce || function == Function::MPI_Reduce ||
         function == Function::MPI_Reduce_scatter || function == Function::MPI_Reduce_scatter_block;
}

// A rank for each member: the first one on its node, as this process sees it.
int first_of_node(const Group& group) {
  int i = 0;
  while (i < group.rank && !peer::is_on_this_node(peer::rank_in_world(group.comm, i))) ++i;
  return i;
}

bool sees(const Group& group, const Nodes& nodes) {
  for (int i = 0; i < group.size; ++i) {
    const bool is_here = peer::is_on_this_node(peer::rank_in_world(group.comm, i));
    if (is_here != (nodes.node_of[static_cast<std::size_t>(i)] == nodes.own)) return false;
  }
  return true;
}

// An error of the library on a communicator of ours, of which no error handler has been told.
struct FailedVote {
  int code;
};

struct Introduction {
  int first_of_node;
  unsigned char is_willing, is_forced;
};

// Throws Refused: the error handler of the program has been told.
std::vector<Introduction> introduce(const Group& group, const Introduction& own) {
  std::vector<Introduction> all(static_cast<std::size_t>(group.size));
  const int code =
      real_pmpi().MPI_Allgather(&own, sizeof own, type_byte(), all.data(), sizeof own, type_byte(), group.comm);
  if (code != MPI_SUCCESS) throw Refused{code};
  return all;
}

Handle bit_or() {
  static const Handle handle = TEMPI_PREDEFINED(MPI_BOR, ompi_mpi_op_bor);
  return handle;
}

std::vector<Count> blocks_of(Function function, const Group& group, const Ends& ends) {
  std::vector<Count> blocks;
  const bool is_even = function == Function::MPI_Reduce_scatter_block;
  if (!is_even && function != Function::MPI_Reduce_scatter) return blocks;
  for (int i = 0; i < group.size; ++i) blocks.push_back(is_even ? ends.in.count : ends.results[i]);
  return blocks;
}

}  // namespace

// A call on this process.
struct SpanningReduction::Plan {
  ReductionTask task;
  Handle type, operation;
  OwnBuffers own{};
  Carried carried{};
  std::optional<device::Staging> memory{};  // of the carried scalars
  bool scatters() const { return task.to == To::spread; }

  // Whatever fails here is a vote.
  void prepare(const Nodes& nodes, const std::vector<Count>& blocks, const Ends& ends) noexcept try {
    own = look_at_buffers(task, ends.out.address, ends.in.address);
    if ((own.vote & ReductionVote::impossible) != 0) return;
    if (!nodes.is_carrier()) return;
    carried = carried_by(task, nodes, blocks);
    const Count result = scatters() ? carried.counts[static_cast<std::size_t>(nodes.own)] : 0;
    const Count count = std::max<Count>(1, carried.total() + result);
    memory.emplace(*own.device, own.at.context, device::MemoryKind::pinned, task.reduced.bytes_of(count));
  } catch (...) {
    warn_fallback("a reduction is done in host memory", caught_error().what());
    own.vote |= ReductionVote::impossible;
  }

  // Of the result: behind the inputs, or in their place. MPICH's MPI_Reduce_scatter copies overlapping memory in place,
  // and ends the process.
  Count first_of_result() const { return scatters() ? carried.total() : 0; }
  // For carriers.
  std::byte* carried_at(Count scalars) const { return memory->data() + task.reduced.bytes_of(scalars); }
};

SpanningReduction::Members::Members(Nodes its_nodes, std::shared_ptr<OwnComm> its_all,
                                    std::shared_ptr<OwnComm> its_node, std::shared_ptr<OwnComm> its_equals)
    : nodes(std::move(its_nodes)), all(std::move(its_all)), node(std::move(its_node)), equals(std::move(its_equals)) {
  const std::uint64_t id = node ? peer::comm_id(node->handle) : 0;
  if (id != 0 && nodes.own_size() <= Consensus::kMostMembers) {
    consensus = std::make_unique<Consensus>(node->handle, id, nodes.place, nodes.own_size());
    buffers.emplace(*consensus);
  }
}

unsigned SpanningReduction::Members::joined(unsigned own) const {
  const auto mine = static_cast<unsigned char>(own);
  unsigned char votes = 0;
  const int code = real_pmpi().MPI_Allreduce(&mine, &votes, 1, type_byte(), bit_or(), all->handle);
  if (code != MPI_SUCCESS) throw FailedVote{code};
  return votes;
}

bool SpanningReduction::is_wanted(const Group& group) {
  if (!flag(Option::REDUCE_NODES) || group.is_inter) return false;
  bool is_any_elsewhere = false;
  for (int i = 0; i < group.size; ++i) {
    const int in_world = peer::rank_in_world(group.comm, i);
    if (in_world < 0) return false;
    is_any_elsewhere = is_any_elsewhere || !peer::is_on_this_node(in_world);
  }
  return is_any_elsewhere;
}

void SpanningReduction::communicator_ends() {
  if (!members_) return;
  for (const auto& one : {members_->all, members_->node, members_->equals}) {
    if (one) one->is_freed = true;
  }
  members_ = nullptr;
}

// The members try it at the calls of which the number is a power of two, until they agree or find that they cannot.
bool SpanningReduction::agree_once(const Group& group) {
  if (members_ || has_given_up_ || !std::has_single_bit(++n_calls_)) return members_ != nullptr;
  const bool is_willing = model::direct_is_wanted() && !message::is_switched_off() && device::current() != nullptr;
  const auto all = introduce(group, {first_of_node(group), is_willing, model::direct_is_forced()});
  std::vector<int> firsts;
  bool are_willing = true, are_forced = true;
  for (const Introduction& one : all) {
    firsts.push_back(one.first_of_node);
    are_willing = are_willing && one.is_willing != 0;
    are_forced = are_forced && one.is_forced != 0;
  }
  const Nodes nodes(firsts, group.rank);
  if (!are_willing || !nodes.are_several_with_several()) return false;
  least_bytes_ = are_forced ? 0 : kLeastBytes;
  has_given_up_ = !make_members(group, nodes);
  return !has_given_up_;
}

// All members of the communicator come here.
bool SpanningReduction::make_members(const Group& group, const Nodes& nodes) {
  auto all = make_own_comm(group.comm, 0, group.rank);
  auto node = make_own_comm(group.comm, nodes.own, group.rank);
  auto equals = make_own_comm(group.comm, nodes.is_carrier() ? nodes.place : MPI_UNDEFINED, nodes.own);
  if (!all) return false;  // the split failed on all members
  auto made = std::make_unique<Members>(nodes, all, node, equals);
  const bool has_comms = node && (equals || !nodes.is_carrier()) && sees(group, nodes);
  const bool is_ready = made->consensus && made->consensus->agrees(1, has_comms, kRoundLasts);
  const bool are_ready = made->joined(is_ready ? 0 : ReductionVote::impossible) == 0;
  members_ = std::move(made);
  if (!are_ready) communicator_ends();
  return are_ready;
}

std::optional<int> SpanningReduction::carry_out(const Call& call, const Group& group, const Ends& ends) noexcept try {
  const std::optional<ReductionTask> task =
      may_span(call.function) ? reduction_task(call.function, group, ends) : std::optional<ReductionTask>{};
  if (!task || task->total > INT_MAX) return {};
  if (task->total_bytes() < least_bytes_ || !agree_once(group)) return {};
  Gap& gap = gaps_[place_of_reduction(call.function)];
  if (gap.is_between_votes()) return {};
  Plan plan{*task, ends.in.type, ends.operation};
  plan.task.n_inputs = static_cast<std::size_t>(members_->nodes.own_size());
  if (plan.task.to == To::own) plan.task.to = To::spread;
  plan.prepare(members_->nodes, blocks_of(call.function, group, ends), ends);
  const bool is_agreed = members_->buffers->agree(plan.own, members_->consensus->own_buffers(),
                                                  [&](unsigned vote) { return members_->joined(vote); });
  gap.note_vote(!is_agreed);
  return is_agreed ? execute(plan, call, group) : std::optional<int>{};
} catch (const Refused& refused) {
  return refused.code;
} catch (const FailedVote& failed) {
  return raise(group.comm, failed.code);
} catch (...) {
  return tell(caught_error(), call.owner, call.owned_by);
}

// Behind the agreement. Nothing: a kernel has failed, and the library can do the call on all members.
std::optional<int> SpanningReduction::execute(const Plan& plan, const Call& call, const Group& group) {
  bool is_done = trace::traced("reduce", [&] { return reduce_on_node(plan); });
  if (plan.scatters()) members_->consensus->joined(0);  // some members may be in place
  const int code = trace::traced("library collective", [&] { return reduce_between_nodes(plan); });
  is_done = is_done && code == MPI_SUCCESS && trace::traced("spread", [&] { return spread_on_node(plan); });
  const bool is_lost = plan.task.may_lose_inputs() || code != MPI_SUCCESS;
  const unsigned all = members_->joined((is_done ? 0 : ReductionVote::failed) | (is_lost ? ReductionVote::is_lost : 0));
  members_->buffers->let_go();
  if (code != MPI_SUCCESS) return raise(group.comm, code);
  if ((all & ReductionVote::failed) == 0) {
    count_call(call.function, Outcome::taken_device, static_cast<std::uint64_t>(plan.task.total_bytes()));
    return MPI_SUCCESS;
  }
  if ((all & ReductionVote::is_lost) == 0) return {};
  return raise(group.comm,
               Error(ErrorKind::device, std::string(name(call.function)) + ": the kernel of a process has failed"));
}

// False: it has failed, and no work of it runs.
bool SpanningReduction::reduce_on_node(const Plan& plan) noexcept {
  return is_finished(plan.own, [&](const device::Scope& here) {
    ReductionTask part = plan.task;
    part.to = To::own;
    Count before = 0;
    for (const Piece& piece : plan.carried.pieces) {
      part.first = piece.first;
      part.count = piece.count;
      members_->buffers->launch(part, here, plan.carried_at(before));
      before += piece.count;
    }
  });
}

int SpanningReduction::reduce_between_nodes(const Plan& plan) const {
  const Real& mpi = real_pmpi();
  const Nodes& nodes = members_->nodes;
  if (!nodes.is_carrier()) return MPI_SUCCESS;
  void* const at = plan.carried_at(0);
  const Handle comm = members_->equals->handle;
  if (plan.scatters())
    return mpi.MPI_Reduce_scatter(at, plan.carried_at(plan.first_of_result()), plan.carried.counts.data(), plan.type,
                                  plan.operation, comm);
  const int count = static_cast<int>(plan.carried.total());
  if (plan.task.to == To::all) return mpi.MPI_Allreduce(MPI_IN_PLACE, at, count, plan.type, plan.operation, comm);
  const int root = nodes.node_of[plan.task.root];
  return root == nodes.own ? mpi.MPI_Reduce(MPI_IN_PLACE, at, count, plan.type, plan.operation, root, comm)
                           : mpi.MPI_Reduce(at, nullptr, count, plan.type, plan.operation, root, comm);
}

// The outputs of this node that get the piece.
std::vector<MemberBuffers::Target> SpanningReduction::targets_of(const Plan& plan, const Piece& piece) const {
  const Nodes& nodes = members_->nodes;
  const Reduced& reduced = plan.task.reduced;
  std::vector<MemberBuffers::Target> targets;
  const auto add = [&](int rank, Count first) {
    const auto of = static_cast<std::size_t>(rank);
    if (nodes.node_of[of] != nodes.own) return;
    targets.push_back({static_cast<std::size_t>(nodes.place_of[of]), reduced.bytes_of(first)});
  };
  if (piece.owner >= 0) {
    add(piece.owner, piece.in_block);
  } else if (plan.task.to == To::root) {
    add(static_cast<int>(plan.task.root), piece.first);
  } else {
    // Each process begins with another output: else all would write to one GPU at a time.
    const auto& here = nodes.members[static_cast<std::size_t>(nodes.own)];
    for (std::size_t i = 0; i < here.size(); ++i) {
      add(here[(static_cast<std::size_t>(nodes.place) + i) % here.size()], piece.first);
    }
  }
  return targets;
}

// False: it has failed, and no work of it runs.
bool SpanningReduction::spread_on_node(const Plan& plan) noexcept {
  return is_finished(plan.own, [&](const device::Scope& here) {
    Count before = plan.first_of_result();
    for (const Piece& piece : plan.carried.pieces) {
      const std::vector<MemberBuffers::Target> targets = targets_of(plan, piece);
      if (targets.empty()) continue;
      members_->buffers->spread(plan.task.reduced, here, plan.carried_at(before), piece.count, targets);
      before += piece.count;
    }
  });
}

}  // namespace tempi::collective
