#include "transport/ipc/undecided.hpp"

#include <algorithm>

#include "base/call_lock.hpp"
#include "request/finish.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {
namespace {

bool agree(int one, int other) { return one < 0 || other < 0 || one == other; }

bool was_cancelled(const MPI_Status& status) {
  int flag = 0;
  real_pmpi().MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

auto find(std::vector<OpenReceives::Kind>& kinds, int source, int tag) {
  return std::find_if(kinds.begin(), kinds.end(),
                      [&](const auto& one) { return one.source == source && one.tag == tag; });
}

}  // namespace

bool OpenReceives::may_match(int source, int tag) const {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const Kind& one) { return agree(one.source, source) && agree(one.tag, tag); });
}

// A receive that may be cancelled is complete soon: senders are not told.
UndecidedReceive::UndecidedReceive(std::shared_ptr<OpenReceives> all, int source, int tag, Received* cancelled)
    : all_(std::move(all)), source_(source), tag_(tag), cancelled_(cancelled) {
  const CallLock lock(all_->mutex);
  auto kind = find(all_->kinds, source, tag);
  if (kind == all_->kinds.end()) kind = all_->kinds.insert(kind, {source, tag, 0, false});
  ++kind->n;
  if (cancelled == nullptr && !kind->is_told) kind->is_told = all_->counts->tell_open(tag);
  all_->n.fetch_add(1, std::memory_order_release);
}

UndecidedReceive::~UndecidedReceive() {
  if (is_open_) close();
}

void UndecidedReceive::leave() {
  is_open_ = false;
  const auto kind = find(all_->kinds, source_, tag_);
  if (--kind->n == 0) {
    if (kind->is_told && all_->counts != nullptr) all_->counts->tell_ended(tag_);
    all_->kinds.erase(kind);
  }
  all_->n.fetch_sub(1, std::memory_order_release);
}

void UndecidedReceive::decide(int code, const MPI_Status& status) noexcept try {
  if (code != MPI_SUCCESS || !is_filled(status)) return close();
  const bool is_cancelled = was_cancelled(status);
  const CallLock lock(all_->mutex);
  if (all_->counts != nullptr && cancelled_ != nullptr && is_cancelled) --cancelled_->n;
  if (all_->counts != nullptr && cancelled_ == nullptr && !is_cancelled) {
    if (status.MPI_SOURCE < 0 || status.MPI_TAG < 0) return close();
    all_->counts->count_matched(status.MPI_SOURCE, status.MPI_TAG);
  }
  leave();
} catch (...) {
  close();
}

void UndecidedReceive::decide_nothing() noexcept {
  const CallLock lock(all_->mutex);
  leave();
}

void UndecidedReceive::close() noexcept {
  const CallLock lock(all_->mutex);
  if (all_->counts != nullptr) all_->counts->close_receives(Outcome::ended_by_failure);
  leave();
}

}  // namespace tempi::message
