// MPI-4.1, 3.7.6: queries of requests without completing them. Our requests are queried one after the other, the
// library's all at once: it knows the inactive persistent ones, and MPICH forgets a status once reported.
#include <cstring>
#include <vector>

#include "request/completion.hpp"
#include "request/finish.hpp"
#include "request/progress.hpp"

namespace tempi::message {
namespace {

class Split {
 public:
  Split(int count, const void* requests)
      : requests_(static_cast<const char*>(requests)), others_(requests_, requests_ + offset(count)) {
    for (int i = 0; i < count; ++i) {
      const MessagePtr message = ManagedRequests::get().find(load_handle(requests_ + offset(i)));
      if (!message) continue;
      store_handle(&others_[offset(i)], request_null());
      if (message->is_active()) ours_.push_back(i);
    }
  }
  const std::vector<int>& ours() const { return ours_; }  // the active ones
  const void* others() const { return others_.data(); }   // null in place of ours
  int look_at(const Real& real, int i, int* flag, MPI_Status* status) const {
    return request_get_status(real, load_handle(requests_ + offset(i)), flag, status);
  }

 private:
  static std::size_t offset(int i) { return static_cast<std::size_t>(i) * kRequestBytes; }

  const char* requests_;
  std::vector<char> others_;
  std::vector<int> ours_;
};

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

int get_status_of(const Real& real, const MessagePtr& message, int* flag, MPI_Status* status) {
  end_continuation(*message, false);
  *flag = 0;
  if (message->is_pending()) return MPI_SUCCESS;
  if (message->is(MessageState::seen)) {
    SeenStatus again(status);
    *flag = 1;
    *again.get() = message->told;
    return MPI_SUCCESS;
  }
  if (message->is_inactive_to_library()) {
    Handle null = request_null();
    const int code = real.MPI_Test(&null, flag, status);
    if (message->is(MessageState::replaced) && message->hook && !is_ignored(status))
      message->hook->tell_status(*status);
    if (message->is(MessageState::withdrawn) && !is_ignored(status)) {
      real_pmpi().MPI_Status_set_cancelled(status, 1);
    }
    return code;
  }
  SeenStatus seen(status);
  const int code = real.MPI_Request_get_status(message->request, flag, seen.get());
  // MPICH's persistent request is inactive then, though it has failed.
  const bool is_told = code == MPI_SUCCESS || (message->lifetime != Lifetime::plain && seen.is_filled());
  if (!is_told || !*flag) return code;
  note_told(message, seen.get(), code);
  return code;
}

}  // namespace

int request_get_status(const Real& real, Handle request, int* flag, MPI_Status* status) {
  make_progress();
  const MessagePtr message = flag != nullptr && is_status(status) ? ManagedRequests::get().find(request) : nullptr;
  return message ? get_status_of(real, message, flag, status) : real.MPI_Request_get_status(request, flag, status);
}

int request_get_status_all(const Real& real, int count, const void* requests, int* flag, MPI_Status* statuses) {
  make_progress();
  const bool is_sound = requests != nullptr && flag != nullptr && are_statuses(statuses);
  if (!is_sound || count < 0 || !ManagedRequests::any())
    return real.MPI_Request_get_status_all(count, requests, flag, statuses);
  const Split split(count, requests);
  std::vector<MPI_Status> told(split.ours().size());
  for (std::size_t k = 0; k < told.size(); ++k) {
    const int code = split.look_at(real, split.ours()[k], flag, &told[k]);
    if (code != MPI_SUCCESS || !*flag) return code;
  }
  const int code = real.MPI_Request_get_status_all(count, split.others(), flag, statuses);
  if (code != MPI_SUCCESS || !*flag || statuses == MPI_STATUSES_IGNORE) return code;
  for (std::size_t k = 0; k < told.size(); ++k) statuses[split.ours()[k]] = told[k];
  return MPI_SUCCESS;
}

int request_get_status_any(const Real& real, int count, const void* requests, int* index, int* flag,
                           MPI_Status* status) {
  make_progress();
  const bool is_sound = requests != nullptr && index != nullptr && flag != nullptr && is_status(status);
  if (!is_sound || count < 0 || !ManagedRequests::any())
    return real.MPI_Request_get_status_any(count, requests, index, flag, status);
  const Split split(count, requests);
  for (const int i : split.ours()) {
    const int code = split.look_at(real, i, flag, status);
    *index = i;
    if (code != MPI_SUCCESS || *flag) return code;
  }
  const int code = real.MPI_Request_get_status_any(count, split.others(), index, flag, status);
  if (code == MPI_SUCCESS && *index == MPI_UNDEFINED && !split.ours().empty()) *flag = 0;
  return code;
}

int request_get_status_some(const Real& real, int count, const void* requests, int* n_done, int* indices,
                            MPI_Status* statuses) {
  make_progress();
  const bool is_sound = requests != nullptr && n_done != nullptr && indices != nullptr && are_statuses(statuses);
  if (!is_sound || count < 0 || !ManagedRequests::any()) {
    return real.MPI_Request_get_status_some(count, requests, n_done, indices, statuses);
  }
  const Split split(count, requests);
  int done = 0;
  for (const int i : split.ours()) {
    int flag = 0;
    const int code = split.look_at(real, i, &flag, status_at(statuses, done));
    if (code != MPI_SUCCESS) return code;
    if (flag) indices[done++] = i;
  }
  const int code =
      real.MPI_Request_get_status_some(count, split.others(), n_done, indices + done, status_at(statuses, done));
  if (code != MPI_SUCCESS || (*n_done == MPI_UNDEFINED && split.ours().empty())) return code;
  *n_done = done + (*n_done == MPI_UNDEFINED ? 0 : *n_done);
  return MPI_SUCCESS;
}

}  // namespace tempi::message
