#include "send/completion.hpp"

#include "base/trace.hpp"
#include "send/engine.hpp"
#include "send/finish.hpp"

namespace tempi::send {
namespace {

using Lifetime = Message::Lifetime;

// A request that never reached the library is inactive to it, which it says at once.
int finish_without_library(const Real& real, Requests& requests, int index, MPI_Status* status) noexcept {
  int flag = 0;
  const int code = real.MPI_Test(requests.slot(index), &flag, status);
  return finish_any(requests, index, status, code);
}

// Testany and Testsome, the pending requests hidden from the library.
int look_at_any(const Real& real, Requests& all, int* index, int* flag, MPI_Status* status) {
  all.tend_siblings(false);
  const Statuses own(1, status);
  if (const int done = all.first_that_ends_without_library(); done >= 0) {
    *flag = 1;
    return finish_without_library(real, all, *index = done, own.at(0));
  }
  VisibleRequests visible(all);
  *index = MPI_UNDEFINED;
  const int code = real.MPI_Testany(all.size(), visible.data(), index, flag, own.at(0));
  visible.write_back();
  if (code == MPI_SUCCESS && *index == MPI_UNDEFINED && visible.hides_any()) *flag = 0;
  return finish_any(all, code != MPI_SUCCESS || *flag ? *index : MPI_UNDEFINED, own.at(0), code);
}

int look_at_some(const Real& real, Requests& all, int* n_done, int* indices, MPI_Status* statuses) {
  all.tend_siblings(false);
  const Statuses own(all.size(), statuses);
  if (const int done = all.first_that_ends_without_library(); done >= 0) {
    *n_done = 1;
    indices[0] = done;
    return finish_without_library(real, all, done, own.at(0));
  }
  VisibleRequests visible(all);
  *n_done = MPI_UNDEFINED;
  const int code = real.MPI_Testsome(all.size(), visible.data(), n_done, indices, own.at(0));
  visible.write_back();
  if (code == MPI_SUCCESS && *n_done == MPI_UNDEFINED && visible.hides_any()) *n_done = 0;
  return finish_some(all, own, *n_done, indices, code);
}

// Waitany and Waitsome where a send half is not complete: the library can not wait for one of two requests on behalf of
// one, so we look until something is done.
int poll_any(const Real& real, Requests& all, int* index, MPI_Status* status) {
  int flag = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && !flag) code = look_at_any(real, all, index, &flag, status);
  return code;
}

int poll_some(const Real& real, Requests& all, int* n_done, int* indices, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (*n_done = 0; code == MPI_SUCCESS && *n_done == 0;) {
    code = look_at_some(real, all, n_done, indices, statuses);
  }
  return code;
}

MessagePtr take(const void* request) noexcept {
  return Engine::manages_any() ? Engine::get().take(load_handle(request)) : nullptr;
}

// A receive that the program has freed may have arrived before the one that it has waited for.
int tended(int code) noexcept {
  Engine::progress();
  return code;
}

}  // namespace

int wait(const Real& real, void* request, MPI_Status* status) {
  Engine::flush();
  MessagePtr message = take(request);
  if (!message) return tended(real.MPI_Wait(request, status));
  end_sibling(*message, true);
  const Statuses own(1, status);
  const int code = trace::traced("library wait", [&] { return real.MPI_Wait(request, own.at(0)); });
  return finish_one(std::move(message), request, own.at(0), code);
}

int wait_all(const Real& real, int count, void* requests, MPI_Status* statuses) {
  Engine::flush();
  Requests all(count, requests);
  if (!all.any_managed()) return tended(real.MPI_Waitall(count, requests, statuses));
  all.tend_siblings(true);
  const Statuses own(count, statuses);
  const int code = trace::traced("library wait", [&] { return real.MPI_Waitall(count, requests, own.at(0)); });
  return finish_all(all, own, code);
}

int wait_any(const Real& real, int count, void* requests, int* index, MPI_Status* status) {
  Engine::flush();
  Requests all(count, requests);
  if (!all.any_managed()) return tended(real.MPI_Waitany(count, requests, index, status));
  all.tend_siblings(false);
  if (all.any_pending()) return poll_any(real, all, index, status);
  const Statuses own(1, status);
  if (const int done = all.first_that_ends_without_library(); done >= 0) {
    return finish_without_library(real, all, *index = done, own.at(0));
  }
  *index = MPI_UNDEFINED;
  const int code = real.MPI_Waitany(count, requests, index, own.at(0));
  return finish_any(all, *index, own.at(0), code);
}

int wait_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses) {
  Engine::flush();
  Requests all(count, requests);
  if (!all.any_managed()) return tended(real.MPI_Waitsome(count, requests, n_done, indices, statuses));
  all.tend_siblings(false);
  if (all.any_pending()) return poll_some(real, all, n_done, indices, statuses);
  const Statuses own(count, statuses);
  if (const int done = all.first_that_ends_without_library(); done >= 0) {
    *n_done = 1;
    indices[0] = done;
    return finish_without_library(real, all, done, own.at(0));
  }
  *n_done = MPI_UNDEFINED;
  const int code = real.MPI_Waitsome(count, requests, n_done, indices, own.at(0));
  return finish_some(all, own, *n_done, indices, code);
}

int test(const Real& real, void* request, int* flag, MPI_Status* status) {
  Engine::progress();
  MessagePtr message = take(request);
  if (!message) return real.MPI_Test(request, flag, status);
  end_sibling(*message, false);
  if (message->is_pending()) {
    *flag = 0;
    Engine::get().manage(message);
    return MPI_SUCCESS;
  }
  const Statuses own(1, status);
  const int code = real.MPI_Test(request, flag, own.at(0));
  if (code != MPI_SUCCESS || *flag) return finish_one(std::move(message), request, own.at(0), code);
  Engine::get().manage(message);
  return code;
}

int test_all(const Real& real, int count, void* requests, int* flag, MPI_Status* statuses) {
  Engine::progress();
  Requests all(count, requests);
  if (!all.any_managed()) return real.MPI_Testall(count, requests, flag, statuses);
  all.tend_siblings(false);
  *flag = 0;
  if (all.any_pending()) return MPI_SUCCESS;
  const Statuses own(count, statuses);
  const int code = real.MPI_Testall(count, requests, flag, own.at(0));
  return code == MPI_SUCCESS && !*flag ? code : finish_all(all, own, code);
}

int test_any(const Real& real, int count, void* requests, int* index, int* flag, MPI_Status* status) {
  Engine::progress();
  Requests all(count, requests);
  if (!all.any_managed()) return real.MPI_Testany(count, requests, index, flag, status);
  return look_at_any(real, all, index, flag, status);
}

int test_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses) {
  Engine::progress();
  Requests all(count, requests);
  if (!all.any_managed()) return real.MPI_Testsome(count, requests, n_done, indices, statuses);
  return look_at_some(real, all, n_done, indices, statuses);
}

int request_free(const Real& real, void* request) {
  MessagePtr message = take(request);
  if (!message || !message->is_active) return real.MPI_Request_free(request);
  Engine::flush();
  if (message->lifetime == Lifetime::programs) message->lifetime = Lifetime::ours;
  Engine::get().adopt(message);
  store_handle(request, request_null());
  return MPI_SUCCESS;
}

int cancel(const Real& real, void* request) {
  const MessagePtr message = Engine::get().find(load_handle(request));
  if (message && message->is_active && message->out && message->is_pending() && Engine::get().withdraw(*message))
    return MPI_SUCCESS;
  return real.MPI_Cancel(request);
}

}  // namespace tempi::send
