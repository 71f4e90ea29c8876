#include "send/completion.hpp"

#include <algorithm>
#include <array>

#include "base/trace.hpp"
#include "mpi/errors.hpp"
#include "send/engine.hpp"
#include "send/grouped.hpp"
#include "send/requests.hpp"

namespace tempi::send {
namespace {

using Lifetime = Message::Lifetime;

// Not in every mpi.h where it can be compared without a cast.
bool is_ignored(const MPI_Status* status) { return status == MPI_STATUS_IGNORE; }
bool are_ignored(const MPI_Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }

// Where the library writes a status: the program's, or one of ours where the program does not care but we do.
class Statuses {
 public:
  Statuses(int count, MPI_Status* program) : at_(program) {
    if (!are_ignored(program) && !is_ignored(program)) return;
    own_.resize(static_cast<std::size_t>(std::max(count, 1)));
    at_ = own_.data();
  }
  MPI_Status* at(int i) const { return at_ + i; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* at_;
};

// A request that the library has completed, with what it said.
struct Completed {
  MessagePtr message;
  void* slot;  // where the program keeps the handle; null for one that it has freed
  MPI_Status* status;
  int code;
};

bool was_cancelled(const MPI_Status& status) {
  int flag = 0;
  real_pmpi().MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

void unpack_short(Message& message, std::int64_t received) noexcept {
  try {
    message.in->unpack(received);
  } catch (const Error& error) {
    message.failure.emplace(error);
  } catch (const std::exception& error) {
    message.failure.emplace(ErrorKind::no_memory, error.what());
  }
}

void unpack(const std::vector<Completed>& all) noexcept {
  std::vector<MessagePtr> whole;
  for (const Completed& done : all) {
    Message& message = *done.message;
    if (!message.in || !message.is_active || message.is_unpacked || message.is_cancelled) continue;
    if (done.code != MPI_SUCCESS) {
      message.in->abandon();
    } else if (!was_cancelled(*done.status)) {
      const std::int64_t received = received_bytes(*done.status);
      if (received == message.in->bytes()) whole.push_back(done.message);
      else unpack_short(message, received);
    }
  }
  unpack_grouped(whole);
}

// What the program is told of a completed request.
int outcome(const Completed& done) noexcept {
  const Message& message = *done.message;
  if (done.code != MPI_SUCCESS) return done.code;
  if (message.failure) return error_code(*message.failure);
  return message.start_code;
}

void release(const Completed& done) noexcept {
  Message& message = *done.message;
  if (message.lifetime == Lifetime::programs) {
    message.is_active = false;
    message.is_unpacked = message.is_cancelled = false;
    message.failure.reset();
    message.start_code = MPI_SUCCESS;
    Engine::get().manage(done.message);
  } else if (message.lifetime == Lifetime::ours) {
    real_pmpi().MPI_Request_free(&message.request);
    if (done.slot != nullptr) store_handle(done.slot, request_null());
  }
}

// The status of a receive from MPI_PROC_NULL.
void say_nobody(MPI_Status& status) noexcept {
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
  real_pmpi().MPI_Status_set_elements(&status, type_byte(), 0);
}

// Unpacks what has come, gives requests back; sets each code to what the program is told. True: all went well.
bool finish(std::vector<Completed>& all) noexcept {
  unpack(all);
  bool all_well = true;
  for (Completed& done : all) {
    if (done.message->is_unpacked) *done.status = done.message->told;  // MPICH forgets it
    if (done.message->receives_from_nobody) say_nobody(*done.status);
    if (done.message->is_cancelled) real_pmpi().MPI_Status_set_cancelled(done.status, 1);
    done.code = outcome(done);
    all_well = all_well && done.code == MPI_SUCCESS;
    release(done);
  }
  return all_well;
}

// For calls about one request: the code of the call. The library has told the error handler of its own errors.
int finish_one(MessagePtr message, void* slot, MPI_Status* status, int code) noexcept {
  const Handle comm = message->comm;
  std::vector<Completed> one{{std::move(message), slot, status, code}};
  finish(one);
  if (code != MPI_SUCCESS || one.front().code == MPI_SUCCESS) return one.front().code;
  return raise(comm, one.front().code);
}

bool has_class(int code, int wanted) {
  int its_class = code;
  if (code != MPI_SUCCESS) real_pmpi().MPI_Error_class(code, &its_class);
  return its_class == wanted;
}

// For calls about several requests, of which those in `done` are complete: `codes` of the library are in their statuses
// when `code` says so.
int finish_several(std::vector<Completed>& done, const std::vector<MPI_Status*>& statuses, int code) noexcept {
  const Handle comm = done.empty() ? comm_world() : done.front().message->comm;
  const bool all_well = finish(done);
  if (all_well || code != MPI_SUCCESS) {
    for (const Completed& one : done) {
      if (code != MPI_SUCCESS) one.status->MPI_ERROR = one.code;
    }
    return code;
  }
  for (MPI_Status* status : statuses) status->MPI_ERROR = MPI_SUCCESS;
  for (const Completed& one : done) one.status->MPI_ERROR = one.code;
  return raise(comm, MPI_ERR_IN_STATUS);
}

// Did the library complete the request of this status, given the code of the call?
bool is_complete(const MPI_Status& status, int code) {
  return !has_class(code, MPI_ERR_IN_STATUS) || !has_class(status.MPI_ERROR, MPI_ERR_PENDING);
}

int code_in(const MPI_Status& status, int code) {
  return has_class(code, MPI_ERR_IN_STATUS) ? status.MPI_ERROR : MPI_SUCCESS;
}

bool says_something(int code) { return code == MPI_SUCCESS || has_class(code, MPI_ERR_IN_STATUS); }

// After Waitall and a Testall that was successful.
int finish_all(Requests& requests, const Statuses& statuses, int code) noexcept {
  if (!says_something(code)) return code;
  std::vector<Completed> done;
  std::vector<MPI_Status*> all;
  for (int i = 0; i < requests.size(); ++i) {
    MPI_Status* const status = statuses.at(i);
    all.push_back(status);
    if (requests.message(i) && is_complete(*status, code)) {
      done.push_back({requests.take(i), requests.slot(i), status, code_in(*status, code)});
    }
  }
  return finish_several(done, all, code);
}

// After Waitsome and Testsome: `n_done` of them, statuses in the order of `indices`.
int finish_some(Requests& requests, const Statuses& statuses, int n_done, const int* indices, int code) noexcept {
  if (!says_something(code) || n_done == MPI_UNDEFINED) return code;
  std::vector<Completed> done;
  std::vector<MPI_Status*> all;
  for (int k = 0; k < n_done; ++k) {
    MPI_Status* const status = statuses.at(k);
    all.push_back(status);
    if (requests.message(indices[k])) {
      done.push_back({requests.take(indices[k]), requests.slot(indices[k]), status, code_in(*status, code)});
    }
  }
  return finish_several(done, all, code);
}

int finish_any(Requests& requests, int index, MPI_Status* status, int code) noexcept {
  if (index == MPI_UNDEFINED || index < 0 || index >= requests.size() || !requests.message(index)) return code;
  return finish_one(requests.take(index), requests.slot(index), status, code);
}

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

// A buffered send is started as a new request each time, by the program's call, because its handle changes: Open MPI
// does so by itself while the last bytes are still on their way, and 4.1 sends stale bytes when one is started again.
int start_buffered(const Real& real, const MessagePtr& message, void* request) {
  Engine& engine = Engine::get();
  Engine::flush();
  message->out->move();
  Handle renewed = 0;
  if (const int code = message->renew(&renewed); code != MPI_SUCCESS) return code;
  engine.take(message->request);
  real_pmpi().MPI_Request_free(&message->request);
  const int code = real.MPI_Start(&renewed);
  message->request = renewed;
  message->is_active = code == MPI_SUCCESS;
  engine.manage(message);
  store_handle(request, renewed);
  return code;
}

}  // namespace

std::int64_t received_bytes(const MPI_Status& status) {
  Count bytes = 0;
  real_pmpi().MPI_Get_elements_x(&status, type_byte(), &bytes);
  return bytes;
}

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

int request_get_status(const Real& real, Handle request, int* flag, MPI_Status* status) {
  Engine& engine = Engine::get();
  Engine::progress();
  const MessagePtr message = engine.find(request);
  if (!message) return real.MPI_Request_get_status(request, flag, status);
  end_sibling(*message, false);
  if (message->is_pending()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (!message->is_active || message->ends_without_library()) {  // inactive to the library, which does not say "done"
    Handle null = request_null();
    const int code = real.MPI_Test(&null, flag, status);
    if (message->is_active && message->is_cancelled && !is_ignored(status)) {
      real_pmpi().MPI_Status_set_cancelled(status, 1);
    }
    return code;
  }
  const Statuses own(1, status);
  if (message->is_unpacked) {
    *flag = 1;
    *own.at(0) = message->told;
    return MPI_SUCCESS;
  }
  const int code = real.MPI_Request_get_status(request, flag, own.at(0));
  if (code != MPI_SUCCESS || !*flag) return code;
  unpack({{message, nullptr, own.at(0), MPI_SUCCESS}});
  message->is_unpacked = true;
  message->told = *own.at(0);
  return MPI_SUCCESS;
}

int cancel(const Real& real, void* request) {
  const MessagePtr message = Engine::get().find(load_handle(request));
  if (message && message->is_active && message->out && message->is_pending() && Engine::get().withdraw(*message))
    return MPI_SUCCESS;
  return real.MPI_Cancel(request);
}

int start(const Real& real, void* request) {
  Engine& engine = Engine::get();
  const MessagePtr message = engine.find(load_handle(request));
  if (!message) {
    Engine::flush();
    return real.MPI_Start(request);
  }
  if (message->is_active) return raise(message->comm, MPI_ERR_REQUEST);
  if (message->renew) return start_buffered(real, message, request);
  if (message->out) {
    message->is_active = true;
    engine.post(message);
    return MPI_SUCCESS;
  }
  const int code = real.MPI_Start(request);
  message->is_active = code == MPI_SUCCESS;
  return code;
}

int start_all(const Real& real, int count, void* requests) {
  if (!Engine::manages_any()) return real.MPI_Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    if (const int code = start(real, static_cast<char*>(requests) + static_cast<std::size_t>(i) * kRequestBytes);
        code != MPI_SUCCESS) {
      return code;
    }
  }
  return MPI_SUCCESS;
}

void end_sibling(Message& message, bool waits) noexcept {
  if (message.sibling && end_orphan(message.sibling, waits)) message.sibling = nullptr;
}

bool end_orphan(const MessagePtr& message, bool waits) noexcept {
  end_sibling(*message, waits);
  if (message->is_pending()) return false;
  MPI_Status status{};
  Handle request = message->request;
  int flag = 1;
  const Real& real = real_pmpi();
  const int code = waits ? real.MPI_Wait(&request, &status) : real.MPI_Test(&request, &flag, &status);
  if (code == MPI_SUCCESS && !flag) return false;
  finish_one(message, nullptr, &status, code);
  return true;
}

}  // namespace tempi::send
