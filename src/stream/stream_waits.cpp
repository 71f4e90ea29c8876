// Calls that wait for enqueued operations: they queue the exchanges (stream_comm.hpp).
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/yield_until.hpp"
#include "request/progress.hpp"
#include "stream/enqueue.hpp"
#include "stream/stream_comm.hpp"
#include "stream/stream_turn.hpp"

namespace tempi::message {
namespace {

using State = Operation::State;

// The operations that are agreed, of one stream. `turn` is null: another thread queues on it.
struct OfStream {
  device::StreamHandle stream;
  std::unique_ptr<StreamTurn> turn;
  std::vector<OperationPtr> operations{};
};

OfStream& of_stream(std::vector<OfStream>& all, device::StreamHandle stream) {
  for (OfStream& one : all) {
    if (one.stream == stream) return one;
  }
  return all.emplace_back(stream, StreamTurn::find(stream));
}

// With the lock. `first`: its stream comes first. The others have the order in which their communicators were made,
// which is the same on all processes.
std::vector<OfStream> take_agreed(const StreamComm* first) {
  std::vector<OfStream> taken;
  if (first != nullptr) of_stream(taken, first->stream);
  for (const StreamCommPtr& comm : all_stream_comms()) {
    if (!is_of_this_thread(*comm)) continue;
    for (const OperationPtr& one : comm->operations) {
      if (one->state != State::agreed || !one->has_way) continue;
      OfStream& of = of_stream(taken, comm->stream);
      if (of.turn == nullptr) continue;
      one->state = State::queueing;
      of.operations.push_back(one);
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

int queue_started(const OfStream& taken) {
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
    if (one->request && one->of && is_in_graph) keep_for_graph(*one->of, one->request);
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

device::Context context_of(device::Device& device, device::StreamHandle stream) {
  const device::Context its = device.program_stream(stream).context;
  return its != nullptr ? its : device.program_context();
}

bool is_captured(device::StreamHandle stream) {
  device::Device* const device = device::current();
  if (device == nullptr) return false;
  const device::Context context = context_of(*device, stream);
  return context != nullptr && device::Scope(*device, context, {stream, context}).is_capturing();
}

void look_until(FunctionRef<bool()> is_done, bool accepts, FunctionRef<bool()> is_due, const StreamComm* first) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kWhile{1};
  auto next = Clock::now() + kWhile;
  yield_until(kForever, is_done, [&] {
    const bool is_late = Clock::now() >= next;
    if (queue_agreed(first, accepts, [&] { return is_due() || is_late; })) next = Clock::now() + kWhile;
    make_progress();
  });
}

bool queue_agreed(const StreamComm* first, bool accepts, FunctionRef<bool()> is_due, int* code) {
  std::vector<OfStream> taken;
  {
    const std::lock_guard lock(stream_comms_mutex());
    if (!advance_operations(accepts) || !is_due()) return false;
    taken = take_agreed(first);
  }
  // All are started first: a peer may wait for any of them.
  for (const OfStream& of : taken) {
    for (const OperationPtr& one : of.operations) {
      if (one->request && one->code == MPI_SUCCESS) one->code = start(*one->request, of.stream);
    }
  }
  for (OfStream& of : taken) {
    const bool has_others = code != nullptr && of.stream == first->stream;
    if (of.operations.empty() && !has_others) continue;
    const int its_code = queue_started(of);
    if (has_others) *code = its_code;
    of.turn.reset();
  }
  return true;
}

void keep_for_graph(StreamComm& comm, const OwnRequestPtr& request) {
  if (!std::exchange(request->is_in_graph, true)) comm.in_graphs.push_back(request);
}

int complete_operations(std::span<const OperationPtr> named) {
  {
    const std::lock_guard lock(stream_comms_mutex());
    for (const OperationPtr& one : named) {
      if (one->state < State::queueing && !is_of_this_thread(*one->of))
        throw Error(ErrorKind::stream,
                    "a thread waits for a message in the per-thread default stream of another thread");
    }
  }
  const StreamComm* const first = named.empty() ? nullptr : named.front()->of.get();
  look_until([&] { return are_queued(named); }, true, [&] { return are_agreed(named); }, first);
  for (const OperationPtr& one : named) {
    if (one->code != MPI_SUCCESS) return one->code;
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::message
