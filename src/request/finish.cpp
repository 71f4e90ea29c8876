#include "request/finish.hpp"

#include <algorithm>

#include "mpi/errors.hpp"
#include "request/deferred.hpp"
#include "request/progress.hpp"
#include "request/repeated_calls.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// Told of the end of a message, which may be another call's by then.
class Owner {
 public:
  explicit Owner(const Message& message) : comm_(message.comm), hook_(message.hook) {}
  int tell(int code) const { return hook_ ? hook_->tell(comm_, code) : raise(comm_, code); }

 private:
  Handle comm_;
  std::shared_ptr<CompletionHook> hook_;
};

// The error code of a completed request, as returned to the program.
int outcome(const Completed& done) noexcept {
  const Message& message = *done.message;
  if (done.code != MPI_SUCCESS) return done.code;
  if (message.failure) return error_code(*message.failure);
  return message.start_code;
}

void become_inactive(Message& message) noexcept {
  if (message.is_active()) message.state.become(MessageState::inactive);
  message.failure.reset();
  message.start_code = MPI_SUCCESS;
}

bool was_cached(Completed& done) noexcept {
  if (done.slot == nullptr || done.code != MPI_SUCCESS || !done.message->request_cache) return false;
  become_inactive(*done.message);
  return cache_message(done.message);
}

// Behind it the message is null if it is cached: another call may have it.
void release(Completed& done) noexcept {
  Message& message = *done.message;
  if (message.lifetime == Lifetime::programs) return become_inactive(message);
  const bool is_ours = message.lifetime == Lifetime::ours;  // asked before another call may take it over
  if (!was_cached(done)) end_message(message);
  if (is_ours && done.slot != nullptr) store_handle(done.slot, request_null());
}

// The status that MPI_Request_get_status has told; the error is that of the call.
void tell_again(MPI_Status& status, const MPI_Status& told) noexcept {
  const int error = status.MPI_ERROR;
  status = told;
  status.MPI_ERROR = error;
}

// Unpacks received packed buffers and releases requests; sets each code to the program's. True: no error.
bool finish(std::vector<Completed>& all) noexcept {
  unpack(all);
  bool all_well = true;
  for (Completed& done : all) {
    Message& message = *done.message;
    follow_deferred(message);
    if (message.is(MessageState::seen)) tell_again(*done.status, message.told);  // MPICH forgets it
    if (message.is(MessageState::replaced) && message.hook) message.hook->tell_status(*done.status);
    if (message.receives_from_nobody) say_nobody(*done.status);
    if (message.is(MessageState::withdrawn)) real_pmpi().MPI_Status_set_cancelled(done.status, 1);
    done.code = outcome(done);
    all_well = all_well && done.code == MPI_SUCCESS;
    release(done);
  }
  ManagedRequests::get().put_back_persistent(all);
  return all_well;
}

bool has_class(int code, int wanted) {
  int its_class = code;
  if (code != MPI_SUCCESS) real_pmpi().MPI_Error_class(code, &its_class);
  return its_class == wanted;
}

// For calls about several requests, of which those in `done` are complete. The call's `n_statuses` hold error codes if
// `code` is MPI_ERR_IN_STATUS.
int finish_several(std::vector<Completed>& done, const SeenStatuses& statuses, int n_statuses, int code) noexcept {
  if (done.empty()) return code;
  const Owner owner(*done.front().message);
  const bool all_well = finish(done);
  if (all_well || code != MPI_SUCCESS) {
    for (const Completed& one : done) {
      if (code != MPI_SUCCESS) one.status->MPI_ERROR = one.code;
    }
    return code;
  }
  for (int k = 0; k < n_statuses; ++k) {
    if (!has_error(*statuses.at(k))) statuses.at(k)->MPI_ERROR = MPI_SUCCESS;
  }
  for (const Completed& one : done) one.status->MPI_ERROR = one.code;
  return owner.tell(MPI_ERR_IN_STATUS);
}

// MPICH's MPI_Testall tells of an error before all requests are complete. It leaves those that are, and the next call
// about them tells their statuses again. (`code` is MPI_SUCCESS where an error handler has returned. MPICH writes the
// status of a file's request whenever it polls it.)
void note_left(const MessagePtr& message, MPI_Status& status, int code) noexcept {
  if (message->is_collective() && code == MPI_SUCCESS) return;
  const bool is_told = message->lifetime == Lifetime::plain && is_filled(status) && has_error(status);
  if (!is_told || has_class(status.MPI_ERROR, MPI_ERR_PENDING)) return;
  if (message->is(MessageState::started)) note_told(message, &status, status.MPI_ERROR);
  else if (message->is(MessageState::seen)) tell_again(status, message->told);
}

// Open MPI's MPI_Waitany and MPI_Testany tell of one request in error, and free the others in error, too. Beside an
// error, these calls, MPI_Waitsome and MPI_Testsome also free pending requests of files, which have no error yet. The
// library may reuse the handles.
void end_untold(Requests& requests, int told) noexcept {
  std::vector<Completed> untold;
  const SeenStatuses statuses(requests.size(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < requests.size(); ++i) {
    if (i == told || !requests.message(i) || requests.message(i)->lifetime != Lifetime::plain) continue;
    if (is_null(load_handle(requests.slot(i))))
      untold.push_back({requests.take(i), requests.slot(i), statuses.at(i), MPI_ERR_OTHER});
  }
  finish(untold);
}

int code_in(const MPI_Status& status, int code) {
  return has_class(code, MPI_ERR_IN_STATUS) && has_error(status) ? status.MPI_ERROR : MPI_SUCCESS;
}

}  // namespace

void end_message(Message& message) noexcept {
  message.state.become(MessageState::ended);
  if (message.lifetime == Lifetime::ours) message.mpi.MPI_Request_free(&message.request);
}

void say_nobody(MPI_Status& status) noexcept {
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
  real_pmpi().MPI_Status_set_elements_x(&status, type_byte(), 0);
}

SeenStatuses::SeenStatuses(int count, MPI_Status* program) : at_(program) {
  if (are_ignored(program)) {
    own_.resize(static_cast<std::size_t>(count));
    at_ = own_.data();
  }
  marked_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) marked_.emplace_back(*at(i));
}

SeenStatuses::~SeenStatuses() {
  for (std::size_t i = 0; i < marked_.size(); ++i) marked_[i].restore(at_[i]);
}

void note_told(const MessagePtr& message, MPI_Status* status, int code) noexcept {
  unpack({{message, nullptr, status, code}});
  follow_deferred(*message);
  if (message->receives_from_nobody) say_nobody(*status);
  message->told = *status;
  message->start_code = code;
  message->state.become(MessageState::seen);
}

bool is_complete(const Message& message, const void* slot, const MPI_Status& status, bool is_said) noexcept {
  if (message.lifetime == Lifetime::plain) return is_null(load_handle(slot));
  if (has_error(status) && has_class(status.MPI_ERROR, MPI_ERR_PENDING)) return false;
  const bool is_receive = !message.ins.empty() && !message.is_collective();
  return is_filled(status) || (!is_receive && (is_said || has_error(status)));
}

int finish_one(MessagePtr message, void* slot, MPI_Status* status, int code) noexcept {
  const Owner owner(*message);
  std::vector<Completed> one{{std::move(message), slot, status, code}};
  finish(one);
  if (code != MPI_SUCCESS || one.front().code == MPI_SUCCESS) return one.front().code;
  return owner.tell(one.front().code);
}

int finish_all(Requests& requests, const SeenStatuses& statuses, int code, bool are_said) noexcept {
  std::vector<Completed> done;
  if (are_said) done.reserve(static_cast<std::size_t>(requests.size()));
  for (int i = 0; i < requests.size(); ++i) {
    MPI_Status* const status = statuses.at(i);
    if (!requests.message(i)) continue;
    if (is_complete(*requests.message(i), requests.slot(i), *status, are_said)) {
      done.push_back({requests.take(i), requests.slot(i), status, code_in(*status, code)});
    } else {
      note_left(requests.message(i), *status, code);
    }
  }
  return done.empty() ? code : finish_several(done, statuses, requests.size(), code);
}

int finish_some(Requests& requests, const SeenStatuses& statuses, int n_done, const int* indices, int code) noexcept {
  std::vector<Completed> done;
  for (int k = 0; k < n_done; ++k) {  // MPI_UNDEFINED is negative
    MPI_Status* const status = statuses.at(k);
    const int i = indices[k];
    if (requests.message(i) && is_complete(*requests.message(i), requests.slot(i), *status, true)) {
      done.push_back({requests.take(i), requests.slot(i), status, code_in(*status, code)});
    }
  }
  if (code != MPI_SUCCESS) end_untold(requests, MPI_UNDEFINED);
  return finish_several(done, statuses, n_done, code);
}

int finish_any(Requests& requests, int index, MPI_Status* status, int code) noexcept {
  if (code != MPI_SUCCESS) end_untold(requests, index);
  if (index < 0 || index >= requests.size() || !requests.message(index)) return code;  // MPI_UNDEFINED is negative
  if (!is_complete(*requests.message(index), requests.slot(index), *status, true)) return code;
  return finish_one(requests.take(index), requests.slot(index), status, code);
}

int library_wait(const Real& real, const Message* message, void* slot, MPI_Status* status) noexcept {
  int flag = 0;
  const bool is_inactive = message != nullptr && message->is_inactive_to_library() &&
                           !(message->is(MessageState::seen) && message->lifetime == Lifetime::plain);
  return is_inactive ? real.MPI_Test(slot, &flag, status) : real.MPI_Wait(slot, status);
}

void end_continuation(Message& message, bool waits) noexcept {
  if (message.continuation && message.continuation->has_ended(message, waits)) message.continuation = nullptr;
}

bool end_orphan(const MessagePtr& message, bool waits) noexcept {
  if (waits) end_early_fins();
  end_continuation(*message, waits);
  if (message->is_pending()) return false;
  SeenStatus status(MPI_STATUS_IGNORE);
  Handle request = message->request;
  int flag = 0;
  const Real& real = message->mpi;
  const int code =
      waits ? library_wait(real, message.get(), &request, status.get()) : real.MPI_Test(&request, &flag, status.get());
  if (!waits && code == MPI_SUCCESS && !flag) return false;
  finish_one(message, nullptr, status.get(), code);
  return true;
}

}  // namespace tempi::message
