// Calls that wait for enqueued operations: they queue the exchanges (stream_comm.hpp).
#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "request/progress.hpp"
#include "stream/enqueue.hpp"
#include "stream/stream_comm.hpp"

namespace tempi::message {
namespace {

using State = Operation::State;

// The operations that are agreed, of one stream.
struct Taken {
  device::StreamHandle stream;
  std::vector<OperationPtr> operations{};
};

std::vector<OperationPtr>& of_stream(std::vector<Taken>& all, device::StreamHandle stream) {
  for (Taken& one : all) {
    if (one.stream == stream) return one.operations;
  }
  return all.emplace_back(stream).operations;
}

// With the lock. `first`: its stream comes first. The others have the order in which their communicators were made,
// which is the same on all processes.
std::vector<Taken> take_agreed(const StreamComm* first) {
  std::vector<Taken> taken;
  if (first != nullptr) of_stream(taken, first->stream);
  for (const StreamCommPtr& comm : all_stream_comms()) {
    if (!is_of_this_thread(*comm)) continue;
    for (const OperationPtr& one : comm->operations) {
      if (one->state != State::agreed || !one->has_way) continue;
      one->state = State::queueing;
      of_stream(taken, comm->stream).push_back(one);
    }
  }
  return taken;
}

int start(OwnRequest& request, device::StreamHandle stream) {
  try {
    return start_enqueue(real_pmpi(), 1, request.slot(), stream);
  } catch (...) {
    return error_code(caught_error());
  }
}

int queue_started(const Taken& taken) {
  std::vector<char> handles;
  for (const OperationPtr& one : taken.operations) {
    if (!one->request || one->code != MPI_SUCCESS) continue;
    handles.resize(handles.size() + kRequestBytes);
    store_handle(handles.data() + handles.size() - kRequestBytes, one->request->handle());
  }
  int code = MPI_SUCCESS;
  bool is_in_graph = false;
  try {
    is_in_graph = is_captured(taken.stream);
    code = wait_enqueue(real_pmpi(), static_cast<int>(handles.size() / kRequestBytes), handles.data(), taken.stream);
  } catch (...) {
    code = error_code(caught_error());
  }
  const std::lock_guard lock(stream_comms_mutex());
  for (const OperationPtr& one : taken.operations) {
    one->state = State::queued;
    one->set->is_busy = false;
    if (one->request && is_in_graph) one->request->is_in_graph = true;
    if (one->request && one->code == MPI_SUCCESS) one->code = code;
  }
  return code;
}

// With the lock.
bool are_agreed(std::span<const OperationPtr> named) {
  return std::all_of(named.begin(), named.end(),
                     [](const OperationPtr& one) { return one->state > State::announced && one->has_way; });
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

void Waiting::look(bool accepts, FunctionRef<bool()> is_due, const StreamComm* first) {
  const bool is_late = std::chrono::steady_clock::now() >= next_;
  if (queue_agreed(first, accepts, [&] { return is_due() || is_late; }))
    next_ = std::chrono::steady_clock::now() + kWhile;
  make_progress();
  std::this_thread::yield();
}

bool queue_agreed(const StreamComm* first, bool accepts, FunctionRef<bool()> is_due, int* code) {
  std::vector<Taken> taken;
  {
    const std::lock_guard lock(stream_comms_mutex());
    if (!advance_operations(accepts) || !is_due()) return false;
    taken = take_agreed(first);
  }
  // All are started first: a peer may wait for any of them.
  for (const Taken& of : taken) {
    for (const OperationPtr& one : of.operations) {
      if (one->request && one->code == MPI_SUCCESS) one->code = start(*one->request, of.stream);
    }
  }
  for (const Taken& of : taken) {
    if (of.operations.empty() && code == nullptr) continue;
    const int its_code = queue_started(of);
    if (code != nullptr && of.stream == first->stream) *code = its_code;
  }
  return true;
}

int complete_operations(std::span<const OperationPtr> named) {
  Waiting waiting;
  while (!are_queued(named)) waiting.look(true, [&] { return are_agreed(named); }, named.front()->of.get());
  for (const OperationPtr& one : named) {
    if (one->code != MPI_SUCCESS) return one->code;
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::message
