#include "collective/agreement.hpp"

#include <algorithm>
#include <bit>

#include "base/log.hpp"
#include "base/recycled.hpp"
#include "collective/blocks.hpp"
#include "message/engine.hpp"
#include "message/side.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "peer/ids.hpp"

namespace tempi::collective {
namespace {

// Members that have made a topology together come at about the same time; one that has failed to make another one
// before does not come (peer/ids.hpp).
constexpr std::chrono::milliseconds kAttemptLasts{1000}, kEarlyAttemptLasts{20};
constexpr std::uint64_t kLastAttempt = 1 << 16;  // a call
constexpr int kMostReceivers = 8;                // of MPI_Bcast: its messages leave one after the other
constexpr std::size_t kMostExchanges = 8;

// Beside the memory of a vote: this process cannot pass slices on (node_reduction.hpp).
constexpr unsigned kNotSliced = 8;

// The exchange of a call that cannot be described as messages.
constexpr unsigned kImpossible = kOnGpu | kNotDirect;

Outcome outcome_of(unsigned memory) { return memory == kOnGpu ? Outcome::sent_direct : Outcome::passed_faster; }

bool are_messages(unsigned votes) { return (votes & kOnGpu) != 0 && (votes & kNotDirect) == 0; }

// The messages of an exchange that is under way.
class UnderWay final : public message::Rest {
 public:
  explicit UnderWay(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  bool has_ended(message::Message& message, bool waits) noexcept override {
    try {
      return exchange_->has_ended(waits, message.start_code);
    } catch (...) {
      message.failure.emplace(caught_error());
      return true;
    }
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

class ByMessages final : public message::Beside {
 public:
  explicit ByMessages(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  int start(message::Message& message) noexcept override {
    try {
      if (const int code = exchange_->start(); code != MPI_SUCCESS) return raise(message.comm, code);
      message.rest = std::make_shared<UnderWay>(exchange_);
    } catch (const Refused& refused) {
      return raise(message.comm, refused.code);
    } catch (...) {
      return raise(message.comm, caught_error());
    }
    message.state.become(message::MessageState::replaced);
    return MPI_SUCCESS;
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

void hand_out(const Call& call, const message::MessagePtr& message) {
  message::Engine::get().manage(message);
  store_handle(call.request, message->request);
}

void warn_not_by_messages(const Error& cause) {
  warn_fallback("the MPI library carries out a collective call", cause.what());
}

// While it lives, no error handler is told of errors on the communicator.
class Untold {
 public:
  explicit Untold(Handle comm) : comm_(comm) {
    real_pmpi().MPI_Comm_get_errhandler(comm_, &handler_);
    real_pmpi().MPI_Comm_set_errhandler(comm_, errors_return());
  }
  ~Untold() {
    real_pmpi().MPI_Comm_set_errhandler(comm_, handler_);
    real_pmpi().MPI_Errhandler_free(&handler_);
  }
  Untold(const Untold&) = delete;
  Untold& operator=(const Untold&) = delete;

 private:
  const Handle comm_;
  Handle handler_ = 0;
};

}  // namespace

Agreement* Agreement::of(Handle comm) noexcept {
  return static_cast<Agreement*>(peer::attachment(
      comm, peer::Attached::agreement,
      [](Handle one) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Agreement>(Group(one)); }));
}

Agreement::Agreement(const Group& group) : program_comm_(group.comm) {
  const std::uint64_t id = group.is_inter ? 0 : peer::comm_id(group.comm);
  if (id == 0 || group.size > Ballot::kMostMembers) return;
  ballot_.emplace(group.comm, id, group.rank, group.size);
}

void Agreement::communicator_ends() noexcept {
  exchanges_.clear();
  reduction_.reset();
  if (has_comm_) real_pmpi().MPI_Comm_free(&comm_);
  has_comm_ = false;
}

std::optional<int> Agreement::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const bool is_reduction = is_node_reduction(call.function);
  const bool is_long = !is_reduction && pattern_of(call.function) == Pattern::from_root && group.size > kMostReceivers;
  if (is_long) return {};
  if (call.lifetime != message::Lifetime::plain) try_to_agree(kAttemptLasts);
  if (!has_comm_) return {};
  if (is_reduction) return reduction_->carry_out(call, group, ends);
  if (call.blocks()) return call_blocking(call, group, ends);
  return call.lifetime == message::Lifetime::plain ? call_nonblocking(call, group, ends)
                                                   : call_persistent(call, group, ends);
}

void Agreement::try_to_agree(std::chrono::milliseconds lasts) {
  if (has_comm_ || !ballot_) return;
  ++n_calls_;
  if (!std::has_single_bit(n_calls_) || n_calls_ > kLastAttempt) return;  // each power of two is an attempt
  const auto attempt = static_cast<std::uint64_t>(std::countr_zero(n_calls_)) + 1;
  const bool is_willing = !message::is_switched_off() && device::current() != nullptr;
  if (ballot_->agrees(attempt, is_willing, lasts)) make_comm();
}

// The communicator of our messages is made by a split: a duplicate would call the program's attribute functions. Errors
// of messages are told by us, to the handler of the program's communicator.
void Agreement::make_comm() {
  peer::Creation creation(program_comm_);
  int rank = 0;
  real_pmpi().MPI_Comm_rank(program_comm_, &rank);
  comm_ = comm_null();
  {
    const Untold untold(program_comm_);
    real_pmpi().MPI_Comm_split(program_comm_, 0, rank, &comm_);
  }
  if (key_of(comm_) == key_of(comm_null())) {
    creation.failed();
    ballot_.reset();  // calls are the library's for good
    return;
  }
  real_pmpi().MPI_Comm_set_errhandler(comm_, errors_return());
  creation.made(comm_);
  message::promise_no_probes(comm_);
  reduction_.emplace(*ballot_);
  has_comm_ = true;
}

std::optional<int> Agreement::left_to_library(const Prepared& prepared) {
  if (prepared.failure) warn_not_by_messages(*prepared.failure);
  return {};
}

void Agreement::count(const Call& call, const Prepared& prepared) {
  count_call(call.function, outcome_of(prepared.memory), static_cast<std::uint64_t>(prepared.exchange->bytes_sent()));
}

Pieces Agreement::pieces_for(const Call& call, const Group& group, const Ends& ends) {
  const Pattern pattern = pattern_of(call.function);
  const bool is_to_neighbors = pattern == Pattern::to_neighbors;
  if (is_to_neighbors && !neighbors_) neighbors_.emplace(program_comm_);
  return pieces_of(pattern, group, is_to_neighbors ? &*neighbors_ : nullptr, ends);
}

// One that fits, else a new one.
Agreement::ExchangePtr Agreement::kept_exchange(Pieces&& pieces, device::Limit limit) {
  const auto found =
      std::find_if(exchanges_.begin(), exchanges_.end(), [&](const ExchangePtr& one) { return one->fits(pieces); });
  if (found != exchanges_.end()) {
    std::rotate(exchanges_.begin(), found, found + 1);
    return exchanges_.front();
  }
  auto made = std::make_shared<Exchange>(real_pmpi(), comm_, std::move(pieces), limit);
  std::erase_if(exchanges_, [](const ExchangePtr& one) { return !one->may_be_kept(); });
  if (!made->may_be_kept()) return made;
  if (exchanges_.size() >= kMostExchanges) exchanges_.pop_back();
  exchanges_.insert(exchanges_.begin(), made);
  return made;
}

// This member's messages. It votes whatever happens.
Agreement::Prepared Agreement::prepare(const Call& call, const Group& group, const Ends& ends, Make make) noexcept try {
  ExchangePtr exchange = make(pieces_for(call, group, ends));
  const unsigned memory = exchange->memory();
  return {std::move(exchange), memory};
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
  const Prepared prepared = prepare(
      call, group, ends, [&](Pieces&& pieces) { return kept_exchange(std::move(pieces), device::Limit::none); });
  const bool may_be_sliced = call.function == Function::MPI_Bcast && prepared.memory == kOnGpu;
  const auto sliced =
      may_be_sliced ? reduction_->plan_broadcast(group, ends) : std::optional<NodeReduction::Broadcast>{};
  const unsigned all = ballot_->joined(prepared.memory | (sliced ? 0 : kNotSliced));
  if (!is_large) gap.note_vote(!are_messages(all));
  if (prepared.refusal) return prepared.refusal;
  if (!are_messages(all)) return left_to_library(prepared);
  if ((all & kNotSliced) == 0) {
    if (const std::optional<int> code = reduction_->carry_out(*sliced, call, group)) return code;
  }
  Exchange& exchange = *prepared.exchange;
  count(call, prepared);
  const int code = exchange.carry_out((all & kOnHost) == 0 ? Fallback::follows : Fallback::ready);
  return code == MPI_SUCCESS ? code : raise(group.comm, code);
}

// The others may have sent their messages: what fails here is an error.
std::optional<int> Agreement::call_nonblocking(const Call& call, const Group& group, const Ends& ends) {
  const Prepared prepared = prepare(
      call, group, ends, [&](Pieces&& pieces) { return kept_exchange(std::move(pieces), device::Limit::pool); });
  const bool is_by_messages = ballot_->way_of_next(place_of(call.function), prepared.memory, &are_messages);
  if (prepared.refusal) return prepared.refusal;
  if (!is_by_messages) return left_to_library(prepared);
  if (prepared.failure) throw Error(*prepared.failure);
  if (!prepared.exchange) return raise(group.comm, MPI_ERR_ARG);
  count(call, prepared);
  const message::MessagePtr message = message_of(call, group, prepared.exchange);
  if (const int code = message->beside->start(*message); code != MPI_SUCCESS) {
    call.real.MPI_Request_free(&message->request);
    return code;
  }
  hand_out(call, message);
  return MPI_SUCCESS;
}

// All buffers of all members must be in GPU memory: our persistent messages cannot go another way later.
std::optional<int> Agreement::call_persistent(const Call& call, const Group& group, const Ends& ends) {
  const std::size_t place = n_persistent_++ % kOwnTags;
  const Prepared prepared = prepare(call, group, ends, [&](Pieces&& pieces) {
    const int tag = Exchange::kFirstOwn + static_cast<int>(place);
    return std::make_shared<Exchange>(real_pmpi(), comm_, std::move(pieces), device::Limit::pool, tag);
  });
  const bool may_be_kept = prepared.exchange && prepared.exchange->may_be_repeated() && persistent_[place].expired();
  const unsigned all = ballot_->joined(may_be_kept ? prepared.memory : kImpossible);
  if (prepared.refusal) return prepared.refusal;
  if (!are_messages(all)) return left_to_library(prepared);
  count(call, prepared);
  persistent_[place] = prepared.exchange;
  if (const int code = prepared.exchange->make(); code != MPI_SUCCESS) return raise(group.comm, code);
  hand_out(call, message_of(call, group, prepared.exchange));
  return MPI_SUCCESS;
}

// Its request is that of a message of this process to itself, which never starts. (Libraries share requests of messages
// to nobody.) Throws Refused.
message::MessagePtr Agreement::message_of(const Call& call, const Group& group, const ExchangePtr& exchange) const {
  const bool is_programs = call.lifetime == message::Lifetime::programs;
  auto message =
      make_recycled<message::Message>(call.real, group.comm, is_programs ? call.lifetime : message::Lifetime::ours);
  message->beside = std::make_shared<ByMessages>(exchange);
  const int code =
      call.real.MPI_Send_init(nullptr, 0, type_byte(), group.rank, Exchange::kAnyCall, group.comm, &message->request);
  if (!is_made(code, message->request)) throw Refused{code};
  return message;
}

void agree_early(Handle comm) noexcept {
  if (!message::has_mailbox() || !active()) return;
  try {
    Agreement* const agreement = Agreement::of(comm);
    if (agreement == nullptr) return;
    agreement->try_to_agree(kEarlyAttemptLasts);
  } catch (const Refused&) {
    return;
  } catch (...) {
    warn_not_by_messages(caught_error());
  }
}

}  // namespace tempi::collective
