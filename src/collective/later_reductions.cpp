#include "collective/later_reductions.hpp"

#include "collective/blocks.hpp"
#include "collective/continued.hpp"
#include "collective/pending_reductions.hpp"
#include "collective/reduction_steps.hpp"
#include "collective/stream_reduction.hpp"
#include "collective/wait_until.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {
namespace {

using PendingPtr = std::shared_ptr<PendingReduction>;

static_assert(kByMessages.size() + kNodeReductions.size() <= ipc::kPathRecords);
constexpr std::size_t path_record_of(Function reduction) { return kByMessages.size() + place_of_reduction(reduction); }

// A mapping of freed memory may be where the new one comes.
constexpr std::chrono::milliseconds kUnmappingLasts{100};

void count(Function function, const ReductionTask& task) {
  count_call(function, Outcome::taken_device, static_cast<std::uint64_t>(task.total_bytes()));
}

// `counted`: the call that is counted if kernels have carried it out; Function::count_: none.
class UntilReduced final : public message::Continuation {
 public:
  UntilReduced(PendingPtr pending, Function counted) : pending_(std::move(pending)), counted_(counted) {}

  bool has_ended(message::Message& message, bool waits) noexcept override try {
    const auto is_done = [&] {
      PendingReductions::go_on();
      return pending_->has_ended(message.start_code, message.failure);
    };
    if (waits) wait_until(Clock::time_point::max(), is_done);
    else if (!is_done()) return false;
    if (counted_ != Function::count_ && pending_->is_by_kernels()) count(counted_, pending_->task());
    return true;
  } catch (const Refused& refused) {
    message.start_code = refused.code;
    return true;
  } catch (...) {
    message.failure.emplace(caught_error());
    return true;
  }

 private:
  const PendingPtr pending_;
  const Function counted_;
};

void go_on_until_reduced(message::Message& message, PendingPtr pending, Function counted) {
  message.continuation = std::make_shared<UntilReduced>(std::move(pending), counted);
  message.state.become(message::MessageState::replaced);
}

// A persistent reduction, which may be in other memory at each start.
class ByKernel final : public message::CompletionHook {
 public:
  ByKernel(std::shared_ptr<ReductionPlace> place, const ReductionTask& task, const LibraryReduction& library,
           StreamReductionCall&& on_stream, int tag)
      : place_(std::move(place)), task_(task), library_(library), on_stream_(std::move(on_stream)), tag_(tag) {}

  int start(message::Message& message) noexcept override try {
    OwnBuffers own = look_at_buffers(task_, library_.sent(), library_.received());
    const auto pending = std::make_shared<PendingReduction>(place_, task_, std::move(own), library_);
    PendingReductions::get().add(pending);
    go_on_until_reduced(message, pending, Function::count_);
    return MPI_SUCCESS;
  } catch (...) {
    return raise(message.comm, caught_error());
  }

  std::shared_ptr<message::StreamRounds> stream_rounds() override try {
    if (!may_be_on_stream(on_stream_)) return nullptr;
    if (!rounds_) rounds_ = std::make_shared<StreamReduction>(on_stream_, place_->members->comm, tag_);
    if (!rounds_->has_buffers())
      throw Error(ErrorKind::stream, "the program has freed a buffer of a reduction that was started on a stream");
    return rounds_;
  } catch (const Refused&) {
    throw Error(ErrorKind::unexpected, "the MPI library makes no requests for a reduction on a stream");
  }

 private:
  const std::shared_ptr<ReductionPlace> place_;
  const ReductionTask task_;
  const LibraryReduction library_;
  const StreamReductionCall on_stream_;
  const int tag_;
  std::shared_ptr<StreamReduction> rounds_{};  // null: it was never started on a stream
};

}  // namespace

LaterReductions::LaterReductions(const std::shared_ptr<Consensus>& consensus, const std::shared_ptr<OwnComm>& comm)
    : members_(std::make_shared<ReductionMembers>(ReductionMembers{consensus, comm})) {}

const LaterReductions::PlacePtr& LaterReductions::place(std::size_t i) {
  if (!places_[i]) places_[i] = std::make_shared<ReductionPlace>(members_, i);
  return places_[i];
}

std::optional<int> LaterReductions::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const std::optional<ReductionTask> task = reduction_task(call.function, group, ends);
  if (!task) return {};
  return call.lifetime == message::Lifetime::plain ? call_nonblocking(call, group, ends, *task)
                                                   : call_persistent(call, group, ends, *task);
}

// The others may have begun: from the path on, this process votes whatever happens.
std::optional<int> LaterReductions::call_nonblocking(const Call& call, const Group& group, const Ends& ends,
                                                     const ReductionTask& task) {
  OwnBuffers own = look_at_buffers(task, ends.out.address, ends.in.address);
  const bool is_by_kernels =
      members_->consensus->path_of_next(path_record_of(call.function), own.vote, &are_by_kernels);
  if (!is_by_kernels) return {};
  const PlacePtr& its_place = place(n_nonblocking_++ % kInTurn);
  const auto pending =
      std::make_shared<PendingReduction>(its_place, task, std::move(own), LibraryReduction(call, ends));
  PendingReductions::get().add(pending);
  const message::MessagePtr message =
      continued_message(call, group, std::make_shared<message::CompletionHook>());  // which is not started again
  go_on_until_reduced(*message, pending, call.function);
  hand_out(call, message);
  return MPI_SUCCESS;
}

// By kernels: the place is free on all members, and all reach each other's buffers.
LaterReductions::Agreed LaterReductions::agree(ReductionPlace& place, bool is_free, const OwnBuffers& own,
                                               bool in_two_steps) {
  Consensus& consensus = *members_->consensus;
  is_free = is_free && place.votes.may_begin(place.n + 1);
  if (is_free && (own.vote & ReductionVote::impossible) == 0) place.buffers.publish(own, place.votes.own_buffers());
  const unsigned votes = consensus.joined(is_free ? own.vote | (in_two_steps ? ReductionVote::in_two_steps : 0)
                                                  : ReductionVote::impossible);
  if (!are_by_kernels(votes)) return {};
  const auto described = [&](std::size_t member) -> const ipc::ReducedBuffers& {
    return place.votes.buffers_of(member);
  };
  wait_until(Clock::now() + kUnmappingLasts, [&] { return place.buffers.map_all(own, described); });
  const bool have_all_mapped =
      place.buffers.all_reach_all(own, described, [&](unsigned vote) { return consensus.joined(vote); });
  place.buffers.let_go();
  return {have_all_mapped, (votes & ReductionVote::in_two_steps) != 0};
}

std::optional<int> LaterReductions::call_persistent(const Call& call, const Group& group, const Ends& ends,
                                                    const ReductionTask& task) {
  const std::size_t number = n_persistent_++ % kPersistent;
  const PlacePtr& its_place = place(kInTurn + number);
  const OwnBuffers own = look_at_buffers(task, ends.out.address, ends.in.address);
  const Agreed agreed =
      agree(*its_place, persistent_[number].expired(), own, are_two_steps_predicted(task, group.size));
  if (!agreed.are_by_kernels) return {};
  count(call.function, task);
  const int tag = Schedule::kFirstOfReductions + 2 * static_cast<int>(number);
  StreamReductionCall on_stream{.task = task,
                                .members = {task, call.function, group, ends, agreed.in_two_steps},
                                .rank = static_cast<std::size_t>(group.rank),
                                .type = ends.in.type,
                                .input = own.input,
                                .output = own.output,
                                .input_at = own.at,
                                .output_at = own.output != nullptr ? own.device->locate(own.output) : own.at};
  const auto hook =
      std::make_shared<ByKernel>(its_place, task, LibraryReduction(call, ends), std::move(on_stream), tag);
  persistent_[number] = hook;
  hand_out(call, continued_message(call, group, hook));
  return MPI_SUCCESS;
}

}  // namespace tempi::collective
