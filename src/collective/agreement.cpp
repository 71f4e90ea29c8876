#include "collective/agreement.hpp"

#include <algorithm>
#include <bit>

#include "base/log.hpp"
#include "collective/blocks.hpp"
#include "message/side.hpp"
#include "mpi/errors.hpp"
#include "peer/ids.hpp"

namespace tempi::collective {
namespace {

constexpr std::uint64_t kLastAttempt = 1 << 16;  // a call
constexpr std::uint64_t kLongestGap = 63;
constexpr int kMostReceivers = 8;  // of MPI_Bcast: its messages leave one after the other
constexpr std::size_t kMostExchanges = 8;

// The exchange of a call that cannot be described as messages.
constexpr unsigned kImpossible = kOnGpu | kNotDirect;

Outcome outcome_of(unsigned memory) { return memory == kOnGpu ? Outcome::sent_direct : Outcome::passed_faster; }

bool are_messages(unsigned votes) { return (votes & kOnGpu) != 0 && (votes & kNotDirect) == 0; }

// Copies of ours must be made in place of the send buffer's blocks.
bool overwrites_what_it_sends(const Ends& ends) { return ends.out.is_in_place() && ends.in.roles.usual.reads; }

}  // namespace

Agreement* Agreement::of(Handle comm) noexcept {
  return static_cast<Agreement*>(peer::attachment(
      comm, peer::Attached::agreement,
      [](Handle one) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Agreement>(Group(one)); }));
}

Agreement::Agreement(const Group& group) {
  const std::uint64_t id = group.is_inter ? 0 : peer::comm_id(group.comm);
  if (id == 0 || group.size > Ballot::kMostMembers) return;
  ballot_.emplace(group.comm, id, group.rank, group.size);
}

void Agreement::communicator_ends() noexcept {
  exchanges_.clear();
  if (has_comm_) real_pmpi().MPI_Comm_free(&comm_);
  has_comm_ = false;
}

std::optional<int> Agreement::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const bool is_long = pattern_of(call.function) == Pattern::from_root && group.size > kMostReceivers;
  if (is_long || !is_agreed(group.comm) || overwrites_what_it_sends(ends)) return {};
  return carry_out_agreed(call, group, ends);
}

bool Agreement::is_agreed(Handle comm) {
  if (has_comm_ || !ballot_) return has_comm_;
  ++n_calls_;
  if (!std::has_single_bit(n_calls_) || n_calls_ > kLastAttempt) return false;  // each power of two is an attempt
  const auto attempt = static_cast<std::uint64_t>(std::countr_zero(n_calls_)) + 1;
  const bool is_willing = !message::is_switched_off() && device::current() != nullptr;
  if (ballot_->agrees(attempt, is_willing)) make_comm(comm);
  return has_comm_;
}

// The communicator of our messages is made by a split: a duplicate would call the program's attribute functions. Errors
// of messages are told by us, to the handler of the program's communicator.
void Agreement::make_comm(Handle comm) {
  neighbors_.emplace(comm);
  peer::Creation creation(comm);
  int rank = 0;
  real_pmpi().MPI_Comm_rank(comm, &rank);
  if (real_pmpi().MPI_Comm_split(comm, 0, rank, &comm_) != MPI_SUCCESS) {
    creation.failed();
    ballot_.reset();  // calls are the library's for good
    return;
  }
  real_pmpi().MPI_Comm_set_errhandler(comm_, errors_return());
  creation.made(comm_);
  message::promise_no_probes(comm_);
  has_comm_ = true;
}

bool Agreement::is_between_votes(Gap& gap) {
  if (gap.left == 0) return false;
  --gap.left;
  return true;
}

unsigned Agreement::vote(Gap& gap, unsigned own) {
  const unsigned all = ballot_->joined(own);
  gap.length = are_messages(all) ? 0 : std::min(2 * gap.length + 1, kLongestGap);
  gap.left = gap.length;
  return all;
}

Exchange& Agreement::exchange_for(const Call& call, const Group& group, const Ends& ends) {
  Pieces pieces = pieces_of(pattern_of(call.function), group, *neighbors_, ends);
  const auto fits = [&](const auto& one) { return one->fits(pieces); };
  const auto found = std::find_if(exchanges_.begin(), exchanges_.end(), fits);
  if (found != exchanges_.end()) {
    std::rotate(exchanges_.begin(), found, found + 1);
    return *exchanges_.front();
  }
  auto made = std::make_unique<Exchange>(real_pmpi(), comm_, std::move(pieces));
  std::erase_if(exchanges_, [](const auto& one) { return !one->may_be_repeated(); });
  if (exchanges_.size() >= kMostExchanges) exchanges_.pop_back();
  exchanges_.insert(exchanges_.begin(), std::move(made));
  return *exchanges_.front();
}

// This member's messages. It votes whatever happens.
Agreement::Prepared Agreement::prepare(const Call& call, const Group& group, const Ends& ends) noexcept try {
  Exchange& exchange = exchange_for(call, group, ends);
  return {&exchange, exchange.memory()};
} catch (const Refused& refused) {
  return {nullptr, kImpossible, refused.code};
} catch (const LeftToLibrary&) {
  return {nullptr, kImpossible};
} catch (...) {
  warn_fallback("a collective call is not carried out by messages", caught_error().what());
  return {nullptr, kImpossible};
}

std::optional<int> Agreement::carry_out_agreed(const Call& call, const Group& group, const Ends& ends) {
  Gap& gap = gaps_[static_cast<std::size_t>(call.function)];
  if (is_between_votes(gap)) return {};
  const Prepared prepared = prepare(call, group, ends);
  const unsigned all = vote(gap, prepared.memory);
  if (prepared.refusal) return prepared.refusal;
  if (!are_messages(all)) return {};
  Exchange& exchange = *prepared.exchange;
  count_call(call.function, outcome_of(prepared.memory), static_cast<std::uint64_t>(exchange.bytes_sent()));
  const int code = exchange.carry_out((all & kOnHost) == 0 ? Fallback::follows : Fallback::ready);
  return code == MPI_SUCCESS ? code : raise(group.comm, code);
}

}  // namespace tempi::collective
