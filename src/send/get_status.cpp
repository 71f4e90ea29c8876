// MPI-4.1, 3.7.6: looking at several requests without completing them, one after the other.
#include "send/completion.hpp"
#include "send/engine.hpp"

namespace tempi::send {
namespace {

Handle handle_at(const void* requests, int i) {
  return load_handle(static_cast<const char*>(requests) + static_cast<std::size_t>(i) * kRequestBytes);
}

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// Null and inactive requests do not count as done here.
bool counts(Handle request) {
  if (key_of(request) == key_of(request_null())) return false;
  const MessagePtr message = Engine::get().find(request);
  return !message || message->is_active;
}

}  // namespace

int request_get_status_all(const Real& real, int count, const void* requests, int* flag, MPI_Status* statuses) {
  Engine::progress();
  if (!Engine::manages_any()) return real.MPI_Request_get_status_all(count, requests, flag, statuses);
  *flag = 1;
  for (int i = 0; i < count && *flag; ++i) {
    const int code = request_get_status(real, handle_at(requests, i), flag, status_at(statuses, i));
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int request_get_status_any(const Real& real, int count, const void* requests, int* index, int* flag,
                           MPI_Status* status) {
  Engine::progress();
  if (!Engine::manages_any()) return real.MPI_Request_get_status_any(count, requests, index, flag, status);
  bool any_counts = false;
  for (int i = 0; i < count; ++i) {
    const Handle request = handle_at(requests, i);
    if (!counts(request)) continue;
    any_counts = true;
    const int code = request_get_status(real, request, flag, status);
    *index = i;
    if (code != MPI_SUCCESS || *flag) return code;
  }
  *index = MPI_UNDEFINED;
  *flag = !any_counts;
  Handle null = request_null();
  int done = 0;
  return any_counts ? MPI_SUCCESS : real.MPI_Test(&null, &done, status);
}

int request_get_status_some(const Real& real, int count, const void* requests, int* n_done, int* indices,
                            MPI_Status* statuses) {
  Engine::progress();
  if (!Engine::manages_any()) {
    return real.MPI_Request_get_status_some(count, requests, n_done, indices, statuses);
  }
  bool any_counts = false;
  *n_done = 0;
  for (int i = 0; i < count; ++i) {
    const Handle request = handle_at(requests, i);
    if (!counts(request)) continue;
    any_counts = true;
    int flag = 0;
    const int code = request_get_status(real, request, &flag, status_at(statuses, *n_done));
    if (code != MPI_SUCCESS) return code;
    if (flag) indices[(*n_done)++] = i;
  }
  if (!any_counts) *n_done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace tempi::send
