#include "collective/pending_reduction.hpp"

#include "base/log.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {

PendingReduction::PendingReduction(std::shared_ptr<ReductionPlace> place, const ReductionTask& task, OwnBuffers own,
                                   const LibraryReduction& library)
    : place_(std::move(place)), n_(++place_->n), task_(task), own_(std::move(own)), library_(library) {}

bool PendingReduction::advance() noexcept {
  const At before = at();
  while (step()) {
  }
  return at() != before;
}

// False: it waits for other members, for the kernel or for the library.
bool PendingReduction::step() {
  switch (at()) {
    case At::queued: return publish();
    case At::described: return look_at_descriptions();
    case At::mapped: return look_at_mappings();
    case At::reducing: return look_at_kernel();
    case At::reduced: return look_at_results();
    case At::refused: return take_ticket();
    default: return false;
  }
}

bool PendingReduction::publish() {
  ReductionVotes& votes = place_->votes;
  if (!votes.may_begin(n_)) return false;
  const bool is_possible = (own_.vote & ReductionVote::impossible) == 0;
  const bool is_known = is_possible && place_->buffers.publish(own_, votes.own_buffers());
  votes.vote(n_, ReductionStage::described, own_.vote | (is_known ? 0 : ReductionVote::is_new));
  go_to(At::described);
  return true;
}

bool PendingReduction::look_at_descriptions() {
  ReductionVotes& votes = place_->votes;
  const std::optional<unsigned> all = votes.joined(n_, ReductionStage::described);
  if (!all) return false;
  if (!are_by_kernels(*all)) return refuse(), true;
  if ((*all & ReductionVote::is_new) == 0) return launch(), true;
  const bool has_mapped = place_->buffers.map_all(
      own_, [&](std::size_t member) -> const ipc::ReducedBuffers& { return votes.buffers_of(member); });
  votes.vote(n_, ReductionStage::mapped, has_mapped ? 0 : ReductionVote::impossible);
  go_to(At::mapped);
  return true;
}

bool PendingReduction::look_at_mappings() {
  const std::optional<unsigned> all = place_->votes.joined(n_, ReductionStage::mapped);
  if (!all) return false;
  const bool have_all_mapped = (*all & ReductionVote::impossible) == 0;
  place_->buffers.note_mapped(have_all_mapped);
  have_all_mapped ? launch() : refuse();
  return true;
}

void PendingReduction::fail(const char* what) noexcept {
  warn_fallback("a reduction by a kernel has failed", what);
  has_failed_ = true;
  kernel_ = nullptr;
}

void PendingReduction::launch() {
  go_to(At::reducing);
  if (task_.count == 0) return;
  try {
    if (task_.is_staged()) staged_.emplace(*own_.device, own_.at.context, device::MemoryKind::device, task_.bytes());
    const device::Scope here(*own_.device, own_.at.context);
    try {
      place_->buffers.launch(task_, here, staged_ ? staged_->data() : own_.output);
      kernel_ = here.mark();
    } catch (...) {
      here.settle();
      throw;
    }
  } catch (...) {
    fail(caught_error().what());
  }
}

bool PendingReduction::look_at_kernel() {
  try {
    if (kernel_ && !kernel_->reached()) return false;
  } catch (...) {
    fail(caught_error().what());
  }
  kernel_ = nullptr;
  place_->votes.vote(
      n_, ReductionStage::reduced,
      (has_failed_ ? ReductionVote::failed : 0) | (task_.may_lose_inputs() ? ReductionVote::is_lost : 0));
  go_to(At::reduced);
  return true;
}

bool PendingReduction::look_at_results() {
  const std::optional<unsigned> all = place_->votes.joined(n_, ReductionStage::reduced);
  if (!all) return false;
  if ((*all & ReductionVote::failed) != 0 && (*all & ReductionVote::is_lost) == 0) return refuse(), true;
  place_->buffers.let_go();
  place_->votes.end(n_);
  if ((*all & ReductionVote::failed) == 0) {
    collect();
  } else {
    failure_.emplace(ErrorKind::device,
                     std::string(name(library_.function())) + ": the kernel of a process has failed");
  }
  go_to(At::ended);
  return true;
}

// A staged result goes where other kernels have read their inputs.
void PendingReduction::collect() {
  is_by_kernels_ = true;
  if (!staged_) return;
  try {
    const device::Scope here(*own_.device, own_.at.context);
    here.copy(own_.output, staged_->data(), static_cast<std::size_t>(task_.bytes()));
    here.finish();
    staged_.reset();
  } catch (...) {
    failure_.emplace(caught_error());
  }
}

void PendingReduction::refuse() {
  place_->buffers.let_go();
  staged_.reset();
  if (place_->members->consensus->rank() == 0) place_->votes.give_ticket(n_, ++place_->members->n_tickets);
  go_to(At::refused);
}

bool PendingReduction::take_ticket() {
  const std::optional<std::uint64_t> given = place_->votes.ticket(n_);
  if (!given) return false;
  ticket_ = *given;
  place_->votes.end(n_);
  go_to(At::in_turn);
  return true;
}

bool PendingReduction::may_call_library() const {
  const ReductionMembers& members = *place_->members;
  return at() == At::in_turn && !members.is_calling && ticket_ == members.n_called + 1;
}

void PendingReduction::call_library() noexcept {
  code_ = library_.begin(place_->members->comm->handle);
  go_to(code_ == MPI_SUCCESS ? At::in_library : At::ended);
}

bool PendingReduction::has_ended(int& code, std::optional<Error>& failure) noexcept {
  if (at() == At::in_library && library_.has_ended(code_)) go_to(At::ended);
  if (at() != At::ended) return false;
  code = code_;
  if (failure_) failure.emplace(*failure_);
  return true;
}

}  // namespace tempi::collective
