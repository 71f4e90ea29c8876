#include "request/completion.hpp"

#include <algorithm>
#include <utility>

#include "base/trace.hpp"
#include "mpi/errors.hpp"
#include "mpi/progress.hpp"
#include "request/finish.hpp"
#include "request/noted.hpp"
#include "request/progress.hpp"
#include "request/stream_work.hpp"
#include "request/wait_unpacking.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// The library answers at once.
int end_without_library(const Real& real, const Requests& requests, int index, MPI_Status* status) noexcept {
  return library_wait(real, requests.message(index).get(), requests.slot(index), status);
}

// All of them, first in `indices` and `seen`; returns their number.
int end_without_library(const Real& real, const Requests& requests, int* indices, const SeenStatuses& seen) noexcept {
  int n = 0;
  for (int i = std::max(0, requests.first_that_ends_without_library()); i < requests.size(); ++i) {
    if (!requests.message(i) || !is_ended(*requests.message(i))) continue;
    end_without_library(real, requests, i, seen.at(n));
    indices[n++] = i;
  }
  return n;
}

int look_at_any(const Real& real, Requests& all, int* index, int* flag, MPI_Status* status) {
  all.look(false);
  SeenStatus seen(status);
  if (const int done = all.first_that_ends_without_library(); done >= 0) {
    *flag = 1;
    const int code = end_without_library(real, all, *index = done, seen.get());
    return finish_any(all, done, seen.get(), code);
  }
  VisibleRequests visible(all);
  *index = MPI_UNDEFINED;
  *flag = 0;
  const int code = real.MPI_Testany(all.size(), visible.data(), index, flag, seen.get());
  visible.write_back();
  if (code == MPI_SUCCESS && *index == MPI_UNDEFINED && visible.is_copy()) *flag = 0;
  return finish_any(all, code != MPI_SUCCESS || *flag ? *index : MPI_UNDEFINED, seen.get(), code);
}

// Receives that have arrived are told beside requests that are always complete (MPI-4.1, 3.7.5: fairness). MPICH's
// MPI_Testsome makes no progress while it finds a complete request.
int look_at_some(const Real& real, Requests& all, int* n_done, int* indices, MPI_Status* statuses) {
  all.look(false);
  const SeenStatuses seen(all.size(), statuses);
  VisibleRequests visible(all);
  const int n_ended = end_without_library(real, all, indices, seen);
  let_library_go_on();
  *n_done = MPI_UNDEFINED;
  const int code = real.MPI_Testsome(all.size(), visible.data(), n_done, indices + n_ended, seen.at(n_ended));
  visible.write_back();
  if (n_ended > 0 || (code == MPI_SUCCESS && visible.is_copy())) *n_done = n_ended + std::max(0, *n_done);
  return finish_some(all, seen, *n_done, indices, code);
}

// True for Waitany and Waitsome that the library cannot wait for: a request is complete without it, or pending. (Of an
// Isendrecv it would have to wait for either of two requests.) TEMPI polls then until a request is complete.
bool must_poll(Requests& all) noexcept {
  all.look(false);
  return all.any_pending() || all.first_that_ends_without_library() >= 0;
}

int poll_any(const Real& real, Requests& all, int* index, MPI_Status* status) {
  int flag = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && !flag) {
    code = look_at_any(real, all, index, &flag, status);
    make_progress();
  }
  return code;
}

int poll_some(const Real& real, Requests& all, int* n_done, int* indices, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (*n_done = 0; code == MPI_SUCCESS && *n_done == 0;) {
    code = look_at_some(real, all, n_done, indices, statuses);
    make_progress();
  }
  return code;
}

// Null if the library will refuse the arguments: the call is passed on then.
MessagePtr take(bool is_sound, const void* request) noexcept {
  const bool is_looked_up = is_sound && request != nullptr && ManagedRequests::any();
  return is_looked_up ? ManagedRequests::get().take(load_handle(request)) : nullptr;
}

// After a call about one request: the message is finished, or is managed again.
int finish_or_put_back(MessagePtr message, void* request, SeenStatus& seen, int code) {
  if (is_complete(*message, request, *seen.get(), true))
    return finish_one(std::move(message), request, seen.get(), code);
  ManagedRequests::get().manage(std::move(message));
  return code;
}

}  // namespace

int wait(const Real& real, void* request, MPI_Status* status) {
  flush_needed(1, request);
  MessagePtr message = take(is_status(status), request);
  if (!message) return real.MPI_Wait(request, status);
  end_continuation(*message, true);
  SeenStatus seen(status);
  const int code = trace::traced("library wait", [&] { return wait_for(real, message.get(), request, seen.get()); });
  end_early_fins();
  return finish_or_put_back(std::move(message), request, seen, code);
}

int wait_all(const Real& real, int count, void* requests, MPI_Status* statuses) {
  flush_needed(count, requests);
  Requests all(are_statuses(statuses), count, requests);
  if (!all.any_managed()) return real.MPI_Waitall(count, requests, statuses);
  all.look(true);
  const SeenStatuses seen(count, statuses);
  const std::optional<int> failed = wait_for_bounce_buffers(real, all, seen);
  const int code =
      failed ? *failed : trace::traced("library wait", [&] { return real.MPI_Waitall(count, requests, seen.at(0)); });
  end_early_fins();
  return finish_all(all, seen, code, !failed && code == MPI_SUCCESS);
}

int wait_each(const Real& real, int count, void* requests, MPI_Status* statuses) {
  flush_needed(count, requests);
  Requests all(true, count, requests);
  if (all.any_managed()) all.look(true);
  const SeenStatuses seen(count, statuses);
  trace::traced("library wait", [&] { wait_for_each(real, all, seen); });
  int code = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    if (seen.at(i)->MPI_ERROR != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
  }
  end_early_fins();
  return all.any_managed() ? finish_all(all, seen, code, true) : code;
}

int wait_any(const Real& real, int count, void* requests, int* index, MPI_Status* status) {
  flush_sends();
  Requests all(index != nullptr && is_status(status), count, requests);
  if (!all.any_managed()) return real.MPI_Waitany(count, requests, index, status);
  if (must_poll(all)) return poll_any(real, all, index, status);
  SeenStatus seen(status);
  *index = MPI_UNDEFINED;
  const int code = real.MPI_Waitany(count, requests, index, seen.get());
  return finish_any(all, *index, seen.get(), code);
}

int wait_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses) {
  flush_sends();
  Requests all(n_done != nullptr && indices != nullptr && are_statuses(statuses), count, requests);
  if (!all.any_managed()) return real.MPI_Waitsome(count, requests, n_done, indices, statuses);
  if (must_poll(all)) return poll_some(real, all, n_done, indices, statuses);
  const SeenStatuses seen(count, statuses);
  *n_done = MPI_UNDEFINED;
  const int code = real.MPI_Waitsome(count, requests, n_done, indices, seen.at(0));
  return finish_some(all, seen, *n_done, indices, code);
}

int test(const Real& real, void* request, int* flag, MPI_Status* status) {
  make_progress();
  MessagePtr message = take(flag != nullptr && is_status(status), request);
  if (!message) return real.MPI_Test(request, flag, status);
  end_continuation(*message, false);
  *flag = 0;
  if (message->is_pending()) {
    ManagedRequests::get().manage(std::move(message));
    return MPI_SUCCESS;
  }
  SeenStatus seen(status);
  *flag = is_ended(*message);
  const int code =
      *flag ? library_wait(real, message.get(), request, seen.get()) : real.MPI_Test(request, flag, seen.get());
  if (code != MPI_SUCCESS || *flag) return finish_or_put_back(std::move(message), request, seen, code);
  ManagedRequests::get().manage(std::move(message));
  return code;
}

int test_all(const Real& real, int count, void* requests, int* flag, MPI_Status* statuses) {
  make_progress();
  Requests all(flag != nullptr && are_statuses(statuses), count, requests);
  if (!all.any_managed()) return real.MPI_Testall(count, requests, flag, statuses);
  all.look(false);
  *flag = 0;
  if (all.any_pending()) return MPI_SUCCESS;
  const SeenStatuses seen(count, statuses);
  const int code = real.MPI_Testall(count, requests, flag, seen.at(0));
  return finish_all(all, seen, code, *flag != 0);
}

int test_any(const Real& real, int count, void* requests, int* index, int* flag, MPI_Status* status) {
  make_progress();
  Requests all(index != nullptr && flag != nullptr && is_status(status), count, requests);
  if (!all.any_managed()) return real.MPI_Testany(count, requests, index, flag, status);
  return look_at_any(real, all, index, flag, status);
}

int test_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses) {
  make_progress();
  Requests all(n_done != nullptr && indices != nullptr && are_statuses(statuses), count, requests);
  if (!all.any_managed()) return real.MPI_Testsome(count, requests, n_done, indices, statuses);
  return look_at_some(real, all, n_done, indices, statuses);
}

namespace {

// A request whose exchanges are queued in streams is freed behind them.
std::optional<int> taken_by_stream_work(void* request) {
  const StreamWork* const work = stream_work.load(std::memory_order_acquire);
  if (work == nullptr || request == nullptr) return {};
  const std::optional<int> code = work->take_freed(load_handle(request));
  if (code == MPI_SUCCESS) store_handle(request, request_null());
  return code;
}

}  // namespace

int request_free(const Real& real, void* request) {
  flush_sends();
  const MessagePtr known = request != nullptr ? ManagedRequests::get().find(load_handle(request)) : nullptr;
  if (known && known->is_started_on_stream()) return raise(known->comm, MPI_ERR_REQUEST);
  if (const std::optional<int> code = taken_by_stream_work(request)) return *code;
  MessagePtr message = take(true, request);
  if (!message && request != nullptr) note_free(load_handle(request));
  if (!message) return real.MPI_Request_free(request);
  if (message->is_inactive_to_library()) {
    message->state.become(MessageState::ended);
    ManagedRequests::get().leave(std::move(message));
    return real.MPI_Request_free(request);
  }
  if (message->lifetime == Lifetime::programs) message->lifetime = Lifetime::ours;
  ManagedRequests::get().adopt(message);
  store_handle(request, request_null());
  return MPI_SUCCESS;
}

int cancel(const Real& real, void* request) {
  if (request == nullptr) return real.MPI_Cancel(request);
  const Handle handle = load_handle(request);
  const MessagePtr message = ManagedRequests::get().find(handle);
  if (message) message->request_cache.reset();  // it ends
  if (!note_cancel(message, handle)) return MPI_SUCCESS;
  if (PendingSends::get().withdraw(handle)) return MPI_SUCCESS;
  return message && message->ends_without_library() ? MPI_SUCCESS : real.MPI_Cancel(request);
}

}  // namespace tempi::message
