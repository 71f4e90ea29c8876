// Exchanges that are under way: their start, what follows, their end.
#include <algorithm>
#include <list>
#include <new>
#include <optional>

#include "collective/schedule.hpp"
#include "request/completion.hpp"
#include "request/deferred.hpp"
#include "request/progress.hpp"
#include "request/start.hpp"
#include "transport/transports.hpp"

namespace tempi::collective {
namespace {

using message::Envelope;

constexpr int kMostFollowed = 3, kCallsOfPause = 50;

}  // namespace

// Requests with another fallback are made anew.
void Schedule::use(Fallback fallback) {
  if (is_made_ && fallback_ != fallback) free_requests();
  fallback_ = fallback;
}

bool Schedule::was_direct(std::size_t i) const {
  const message::MessagePtr known = message::ManagedRequests::get().find(handle(i));
  return known && (messages_[i].is_sent ? known->outs : known->ins).first().was_direct;
}

// The bytes of messages that were not direct, packed.
int Schedule::let_follow() {
  std::vector<char> requests;
  std::list<Envelope> halves;
  int code = MPI_SUCCESS;
  {
    const message::PendingSends::SharedLaunch shared_launch;
    for (std::size_t i = 0; i < messages_.size() && code == MPI_SUCCESS; ++i) {
      if (was_direct(i)) continue;
      Envelope& envelope = halves.emplace_back(messages_[i].envelope);
      envelope.tag = kFollowing;
      message::FoundEndpoint found = message::find_endpoint(envelope.buffer, envelope.peer);
      if (found.endpoint) found.endpoint->may_be_direct = false;
      Handle made = request_null();
      code = make_once(envelope, std::move(found), messages_[i].is_sent, &made);
      requests.resize(requests.size() + kRequestBytes);
      store_handle(&requests[requests.size() - kRequestBytes], made);
    }
  }
  if (code != MPI_SUCCESS) return code;
  n_followed_ = halves.empty() ? 0 : n_followed_ + 1;
  if (halves.empty()) return MPI_SUCCESS;
  if (n_followed_ >= kMostFollowed) n_paused_ = kCallsOfPause;
  return wait_for(static_cast<int>(halves.size()), requests.data());
}

int Schedule::wait_for(int n, void* requests) const {
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(n));
  for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
  const int code = message::wait_each(real_, n, requests, statuses.data());
  if (code == MPI_SUCCESS) return code;
  const auto failed = std::find_if(statuses.begin(), statuses.end(),
                                   [](const MPI_Status& status) { return status.MPI_ERROR != MPI_SUCCESS; });
  return failed != statuses.end() ? failed->MPI_ERROR : code;
}

// True: all are complete.
bool Schedule::test(int& code) {
  const message::NothingDeferred while_tested;
  bool are_all = true;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].is_complete) continue;
    int flag = 0;
    const int its_code = message::test(real_, request(i), &flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = its_code;
    messages_[i].is_complete = flag != 0 || its_code != MPI_SUCCESS;
    are_all = are_all && messages_[i].is_complete;
  }
  return are_all;
}

int Schedule::start(Fallback fallback) {
  if (has_failed_) return failure_;
  use(fallback);
  if (copy_) copy_->renew();
  int code = is_made_ ? MPI_SUCCESS : make();
  if (code != MPI_SUCCESS) return code;
  for (Message& message : messages_) message.is_complete = false;
  if (is_all_on_gpu_ && !messages_.empty()) {
    code = message::start_all(real_, static_cast<int>(messages_.size()), requests_.data());
  }
  if (code == MPI_SUCCESS) is_under_way_ = true;
  else give_up(code);
  return code;
}

int Schedule::start() { return start(Fallback::ready); }

bool Schedule::has_ended(bool waits, int& code) {
  if (!waits && !test(code)) return false;
  if (waits && !messages_.empty()) {
    const int last = wait_for(static_cast<int>(messages_.size()), requests_.data());
    if (code == MPI_SUCCESS) code = last;
  }
  if (code != MPI_SUCCESS) give_up(code);
  is_under_way_ = false;
  return true;
}

int Schedule::carry_out(Fallback fallback) {
  if (messages_.empty()) return MPI_SUCCESS;
  std::optional<message::AllInCall> all_in_call;
  if (fallback == Fallback::follows) all_in_call.emplace(comm_);
  int code = start(fallback);
  if (code == MPI_SUCCESS) has_ended(true, code);
  if (code == MPI_SUCCESS && fallback == Fallback::follows) {
    code = let_follow();
    if (code != MPI_SUCCESS) give_up(code);
  }
  return code;
}

// Messages under way end without us: ManagedRequests keeps their memory, but for a copy, which is never given back.
void Schedule::give_up(int code) noexcept {
  free_requests();
  if (copy_) new (std::nothrow) std::shared_ptr(copy_);
  failure_ = code;
  has_failed_ = true;
}

void Schedule::free_requests() noexcept {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (!is_null(handle(i))) message::request_free(real_, request(i));
  }
  is_made_ = false;
}

}  // namespace tempi::collective
