#include "collective/agreement.hpp"

#include <algorithm>
#include <bit>

#include "base/log.hpp"
#include "collective/blocks.hpp"
#include "collective/continued.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "peer/ids.hpp"
#include "request/progress.hpp"
#include "request/stream_work.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

// Members that have made a topology together come at about the same time; one that has failed to make another one
// before does not come (peer/ids.hpp).
constexpr std::chrono::milliseconds kRoundLasts{1000}, kFirstRoundLasts{20};
constexpr std::uint64_t kLastRound = 1 << 16;  // a call
constexpr int kMostReceivers = 8;              // of MPI_Bcast: its messages leave one after the other
constexpr std::size_t kMostSchedules = 8;

// Beside the memory of a vote: this process cannot pass slices on (node_reduction.hpp).
constexpr unsigned kNotSliced = 8;

// The schedule of a call that cannot be described as messages.
constexpr unsigned kImpossible = kOnGpu | kNotDirect;

Outcome outcome_of(unsigned memory) { return memory == kOnGpu ? Outcome::sent_direct : Outcome::passed_to_library; }

bool are_messages(unsigned votes) { return (votes & kOnGpu) != 0 && (votes & kNotDirect) == 0; }

void warn_not_by_messages(const Error& cause) {
  warn_fallback("the MPI library carries out a collective call", cause.what());
}

}  // namespace

Agreement* Agreement::of(Handle comm) noexcept {
  return static_cast<Agreement*>(peer::attachment(
      comm, peer::Attached::agreement,
      [](Handle one) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Agreement>(Group(one)); }));
}

Agreement::Agreement(const Group& group) : program_comm_(group.comm) {
  if (SpanningReduction::is_wanted(group)) {
    spanning_.emplace();
    return;
  }
  if (!ipc::has_segment()) return;
  const std::uint64_t id = group.is_inter ? 0 : peer::comm_id(group.comm);
  if (id == 0 || group.size > Consensus::kMostMembers) return;
  consensus_ = std::make_shared<Consensus>(group.comm, id, group.rank, group.size);
}

void Agreement::communicator_ends() noexcept {
  schedules_.clear();
  reduction_.reset();
  later_reductions_.reset();
  if (spanning_) spanning_->communicator_ends();
  if (comm_) comm_->is_freed = true;
  comm_ = nullptr;
}

std::optional<int> Agreement::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const bool is_reduction = is_node_reduction(call.function);
  if (spanning_) return is_reduction && call.blocks() ? spanning_->carry_out(call, group, ends) : std::optional<int>{};
  const bool is_long = !is_reduction && pattern_of(call.function) == Pattern::broadcast && group.size > kMostReceivers;
  if (is_long) return {};
  if (call.lifetime != message::Lifetime::plain) try_to_agree(kRoundLasts);
  if (!comm_) return {};
  if (call.lifetime == message::Lifetime::programs) message::drop_ended_stream_exchanges();
  if (is_reduction && call.blocks()) return reduction_->carry_out(call, group, ends);
  if (is_reduction) return later_reductions_->carry_out(call, group, ends);
  if (call.blocks()) return call_blocking(call, group, ends);
  return call.lifetime == message::Lifetime::plain ? call_nonblocking(call, group, ends)
                                                   : call_persistent(call, group, ends);
}

void Agreement::try_to_agree(std::chrono::milliseconds lasts) {
  if (comm_ || !consensus_) return;
  ++n_calls_;
  if (!std::has_single_bit(n_calls_) || n_calls_ > kLastRound) return;  // each power of two is a round
  const auto round = static_cast<std::uint64_t>(std::countr_zero(n_calls_)) + 1;
  const bool is_willing = !message::is_switched_off() && device::current() != nullptr;
  if (consensus_->agrees(round, is_willing, lasts)) make_comm();
}

// Errors of our messages are told by us, to the handler of the program's communicator.
void Agreement::make_comm() {
  int rank = 0;
  real_pmpi().MPI_Comm_rank(program_comm_, &rank);
  comm_ = make_own_comm(program_comm_, 0, rank);
  if (!comm_) {
    consensus_.reset();  // calls are the library's for good
    return;
  }
  message::promise_no_probes(comm_->handle);
  reduction_.emplace(*consensus_);
  later_reductions_.emplace(consensus_, comm_);
}

std::optional<int> Agreement::left_to_library(const Prepared& prepared) {
  if (prepared.failure) warn_not_by_messages(*prepared.failure);
  return {};
}

void Agreement::count(const Call& call, const Prepared& prepared) {
  count_call(call.function, outcome_of(prepared.memory), static_cast<std::uint64_t>(prepared.schedule->bytes_sent()));
}

Steps Agreement::steps_for(const Call& call, const Group& group, const Ends& ends) {
  const Pattern pattern = pattern_of(call.function);
  const bool is_to_neighbors = pattern == Pattern::to_neighbors;
  if (is_to_neighbors && !neighbors_) neighbors_.emplace(program_comm_);
  return steps_of(pattern, group, is_to_neighbors ? &*neighbors_ : nullptr, ends);
}

// One that fits, else a new one.
Agreement::SchedulePtr Agreement::kept_schedule(Steps&& steps, device::Limit limit) {
  const auto found =
      std::find_if(schedules_.begin(), schedules_.end(), [&](const SchedulePtr& one) { return one->fits(steps); });
  if (found != schedules_.end()) {
    std::rotate(schedules_.begin(), found, found + 1);
    return schedules_.front();
  }
  auto made = std::make_shared<Schedule>(real_pmpi(), comm_->handle, std::move(steps), limit);
  std::erase_if(schedules_, [](const SchedulePtr& one) { return !one->may_be_kept(); });
  if (!made->may_be_kept()) return made;
  if (schedules_.size() >= kMostSchedules) schedules_.pop_back();
  schedules_.insert(schedules_.begin(), made);
  return made;
}

// This member's messages. It votes whatever happens.
Agreement::Prepared Agreement::prepare(const Call& call, const Group& group, const Ends& ends, Make make) noexcept try {
  SchedulePtr schedule = make(steps_for(call, group, ends));
  const unsigned memory = schedule->memory();
  return {std::move(schedule), memory};
} catch (const Refused& refused) {
  return {nullptr, kImpossible, refused.code};
} catch (const LeftToLibrary&) {
  return {nullptr, kImpossible};
} catch (...) {
  return {nullptr, kImpossible, {}, caught_error()};
}

std::optional<int> Agreement::call_blocking(const Call& call, const Group& group, const Ends& ends) {
  Gap& gap = gaps_[place_of(call.function)];
  const bool is_large = has_large_blocks(call.function, ends, group.comm);
  if (!is_large && gap.is_between_votes()) return {};
  const Prepared prepared =
      prepare(call, group, ends, [&](Steps&& steps) { return kept_schedule(std::move(steps), device::Limit::none); });
  const bool may_be_sliced = call.function == Function::MPI_Bcast && prepared.memory == kOnGpu;
  const auto sliced =
      may_be_sliced ? reduction_->plan_broadcast(group, ends) : std::optional<NodeReduction::Broadcast>{};
  const unsigned all = consensus_->joined(prepared.memory | (sliced ? 0 : kNotSliced));
  if (!is_large) gap.note_vote(!are_messages(all));
  if (prepared.refusal) return prepared.refusal;
  if (!are_messages(all)) return left_to_library(prepared);
  if ((all & kNotSliced) == 0) {
    if (const std::optional<int> code = reduction_->carry_out(*sliced, call, group)) return code;
  }
  Schedule& schedule = *prepared.schedule;
  count(call, prepared);
  const int code = schedule.carry_out((all & kOnHost) == 0 ? Fallback::follows : Fallback::ready);
  return code == MPI_SUCCESS ? code : raise(group.comm, code);
}

// The others may have sent their messages: what fails here is an error.
std::optional<int> Agreement::call_nonblocking(const Call& call, const Group& group, const Ends& ends) {
  const Prepared prepared =
      prepare(call, group, ends, [&](Steps&& steps) { return kept_schedule(std::move(steps), device::Limit::pool); });
  const bool is_by_messages = consensus_->path_of_next(place_of(call.function), prepared.memory, &are_messages);
  if (prepared.refusal) return prepared.refusal;
  if (!is_by_messages) return left_to_library(prepared);
  if (prepared.failure) throw Error(*prepared.failure);
  if (!prepared.schedule) return raise(group.comm, MPI_ERR_ARG);
  count(call, prepared);
  const message::MessagePtr message = continued_message(call, group, by_messages(prepared.schedule, comm_));
  if (const int code = message->hook->start(*message); code != MPI_SUCCESS) {
    call.real.MPI_Request_free(&message->request);
    return code;
  }
  hand_out(call, message);
  return MPI_SUCCESS;
}

// All buffers of all members must be in GPU memory: our persistent messages cannot go another way later.
std::optional<int> Agreement::call_persistent(const Call& call, const Group& group, const Ends& ends) {
  const std::size_t place = n_persistent_++ % Schedule::kOwnTags;
  const Prepared prepared = prepare(call, group, ends, [&](Steps&& steps) {
    const int tag = Schedule::kFirstOwn + static_cast<int>(place);
    return std::make_shared<Schedule>(real_pmpi(), comm_->handle, std::move(steps), device::Limit::pool, tag);
  });
  const bool may_be_kept = prepared.schedule && prepared.schedule->may_be_repeated() && persistent_[place].expired();
  const unsigned all = consensus_->joined(may_be_kept ? prepared.memory : kImpossible);
  if (prepared.refusal) return prepared.refusal;
  if (!are_messages(all)) return left_to_library(prepared);
  count(call, prepared);
  persistent_[place] = prepared.schedule;
  if (const int code = prepared.schedule->make(); code != MPI_SUCCESS) return raise(group.comm, code);
  hand_out(call, continued_message(call, group, by_messages(prepared.schedule, comm_)));
  return MPI_SUCCESS;
}

void agree_early(Handle comm) noexcept {
  if (!ipc::has_segment() || !active()) return;
  try {
    Agreement* const agreement = Agreement::of(comm);
    if (agreement == nullptr) return;
    agreement->try_to_agree(kFirstRoundLasts);
  } catch (const Refused&) {
    return;
  } catch (...) {
    warn_not_by_messages(caught_error());
  }
}

}  // namespace tempi::collective
