// Calls that wait for enqueued operations: they queue the exchanges (stream_comm.hpp).
#include <algorithm>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "request/progress.hpp"
#include "stream/enqueue.hpp"
#include "stream/stream_comm.hpp"

namespace tempi::message {
namespace {

using State = Operation::State;

// With the lock: those that are agreed, by stream.
std::map<device::StreamHandle, std::vector<OperationPtr>> take_agreed(const StreamComm* own) {
  std::map<device::StreamHandle, std::vector<OperationPtr>> taken;
  for (const StreamCommPtr& comm : all_stream_comms()) {
    if (!is_of_this_thread(*comm)) continue;
    for (const OperationPtr& one : comm->operations) {
      if (!is_agreed(*one)) continue;
      one->state = State::queueing;
      taken[comm->stream].push_back(one);
    }
  }
  if (own != nullptr) taken[own->stream];
  return taken;
}

int started(OwnRequest& request, device::StreamHandle stream) {
  try {
    return start_enqueue(real_pmpi(), 1, request.slot(), stream);
  } catch (...) {
    return error_code(caught_error());
  }
}

int queue_on(device::StreamHandle stream, const std::vector<OperationPtr>& operations) {
  std::vector<char> handles;
  for (const OperationPtr& one : operations) {
    if (!one->request) continue;
    one->code = started(*one->request, stream);
    if (one->code != MPI_SUCCESS) continue;
    handles.resize(handles.size() + kRequestBytes);
    store_handle(handles.data() + handles.size() - kRequestBytes, one->request->handle());
  }
  int code = MPI_SUCCESS;
  bool is_in_graph = false;
  try {
    is_in_graph = is_captured(stream);
    code = wait_enqueue(real_pmpi(), static_cast<int>(handles.size() / kRequestBytes), handles.data(), stream);
  } catch (...) {
    code = error_code(caught_error());
  }
  const std::lock_guard lock(stream_comms_mutex());
  for (const OperationPtr& one : operations) {
    one->state = State::queued;
    one->set->is_busy = false;
    if (one->request && is_in_graph) one->request->is_in_graph = true;
    if (one->request && one->code == MPI_SUCCESS) one->code = code;
  }
  return code;
}

// With the lock.
bool may_be_queued(std::span<const OperationPtr> named) {
  return std::all_of(named.begin(), named.end(),
                     [](const OperationPtr& one) { return one->state > State::agreed || is_agreed(*one); });
}

bool are_queued(std::span<const OperationPtr> named) {
  const std::lock_guard lock(stream_comms_mutex());
  return std::all_of(named.begin(), named.end(), [](const OperationPtr& one) { return one->state == State::queued; });
}

}  // namespace

bool is_captured(device::StreamHandle stream) {
  device::Device* const device = device::current();
  if (device == nullptr) return false;
  const device::Context of_stream = device->program_stream(stream).context;
  const device::Context context = of_stream != nullptr ? of_stream : device->program_context();
  return context != nullptr && device::Scope(*device, context, {stream, context}).is_capturing();
}

void Waiting::look_again() {
  if (std::chrono::steady_clock::now() >= next_) {
    queue_agreed(nullptr);
    next_ = std::chrono::steady_clock::now() + kWhile;
  }
  make_progress();
  std::this_thread::yield();
}

int queue_agreed(const StreamComm* also) {
  std::map<device::StreamHandle, std::vector<OperationPtr>> taken;
  {
    const std::lock_guard lock(stream_comms_mutex());
    taken = take_agreed(also);
  }
  int code = MPI_SUCCESS;
  for (const auto& [stream, operations] : taken) {
    const int its_code = queue_on(stream, operations);
    if (also != nullptr && stream == also->stream) code = its_code;
  }
  return code;
}

int complete_operations(std::span<const OperationPtr> named) {
  for (Waiting waiting; !are_queued(named);) {
    bool is_ready = false;
    {
      const std::lock_guard lock(stream_comms_mutex());
      advance_operations(true);
      is_ready = may_be_queued(named);
    }
    if (is_ready) queue_agreed(nullptr);  // another thread may be queueing one of them
    else waiting.look_again();
  }
  for (const OperationPtr& one : named) {
    if (one->code != MPI_SUCCESS) return one->code;
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::message
