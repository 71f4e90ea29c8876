// MPIX_Allreduce_enqueue: a persistent reduction that is repeated for the same arguments. The processes agree on it:
// each one has a bit for each reduction that has its arguments, and they take one that all have. They free the
// reductions of which a process has freed a buffer.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "stream/enqueue.hpp"
#include "stream/stream_comm.hpp"
#include "stream/stream_handles.hpp"

namespace tempi::message {
namespace {

constexpr std::uint64_t kNoOperations = std::uint64_t{1} << 63;

// Each has a bit for each slot.
struct Bits {
  std::uint64_t matching = 0;  // it has the arguments of this call; also kNoOperations
  std::uint64_t living = 0;    // the program has not freed its buffers
};

StreamReductionSlot slot_of(const StreamAllreduce& call) {
  return {nullptr,
          call.input,
          call.output,
          call.count,
          call.type,
          call.operation,
          location_of(call.input),
          location_of(call.output)};
}

bool has_arguments(const StreamReductionSlot& one, const StreamReductionSlot& wanted) {
  return one.request && one.input == wanted.input && one.output == wanted.output && one.count == wanted.count &&
         key_of(one.type) == key_of(wanted.type) && key_of(one.operation) == key_of(wanted.operation) &&
         one.input_at == wanted.input_at && one.output_at == wanted.output_at;
}

// With the lock.
bool has_operations() {
  for (const StreamCommPtr& comm : all_stream_comms()) {
    for (const OperationPtr& one : comm->operations) {
      if (one->state < Operation::State::queueing) return true;
    }
  }
  return false;
}

// The bits that all processes of the communicator have. Meanwhile, messages are agreed.
Bits common_bits(const StreamComm& comm, const Bits& own, bool accepts) {
  const Real& mpi = real_pmpi();
  Bits common;
  Handle request = request_null();
  int code = mpi.MPI_Iallreduce(&own, &common, sizeof own, type_byte(), op_bitwise_and(), comm.replies, &request);
  Waiting waiting;
  for (int flag = 0; code == MPI_SUCCESS && flag == 0;) {
    waiting.look(accepts, [] { return false; }, nullptr);
    code = mpi.MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unexpected, "the processes cannot agree on a reduction");
  return common;
}

// With the lock.
bool have_ways() {
  for (const StreamCommPtr& comm : all_stream_comms()) {
    for (const OperationPtr& one : comm->operations) {
      if (!one->has_way) return false;
    }
  }
  return true;
}

// Until the senders have received the replies on this communicator. They come to the same reduction, and look, too.
void await_replies(const StreamComm& comm) {
  const auto are_received = [&] {
    const std::lock_guard lock(stream_comms_mutex());
    return std::all_of(comm.operations.begin(), comm.operations.end(), [](const OperationPtr& one) {
      return one->is_send || one->state == Operation::State::announced || is_null(one->control);
    });
  };
  Waiting waiting;
  while (!are_received()) waiting.look(false, [] { return false; }, nullptr);
}

// Without accepting more. `also`: the stream has other requests.
int queue_all(const StreamComm* also) {
  int code = MPI_SUCCESS;
  while (!queue_agreed(also, false, [] { return have_ways(); }, also != nullptr ? &code : nullptr))
    std::this_thread::yield();
  return code;
}

void end_reduction(StreamComm& comm, StreamReductionSlot& slot) {
  if (slot.request && slot.request->is_in_graph) comm.in_graphs.push_back(slot.request);
  slot = {};
}

// Made in the slot of the oldest one.
int make_reduction(StreamComm& comm, const StreamAllreduce& call, StreamReductionSlot&& made,
                   StreamReductionSlot*& slot) {
  slot = &comm.reductions[comm.n_reductions++ % StreamComm::kReductions];
  end_reduction(comm, *slot);
  int code = MPI_SUCCESS;
  made.request = std::make_shared<OwnRequest>([&](void* request) { return call.init(comm.replies, request); }, code);
  if (code == MPI_SUCCESS) *slot = std::move(made);
  return code;
}

void finish(device::StreamHandle stream) {
  device::Device* const device = device::current();
  if (device == nullptr) return;
  const device::Context of_stream = device->program_stream(stream).context;
  const device::Context context = of_stream != nullptr ? of_stream : device->program_context();
  if (context != nullptr) device::Scope(*device, context, {stream, context}).finish();
}

int run_now(StreamComm& comm, const StreamAllreduce& call) {
  if (is_captured(comm.stream)) {
    throw Error(ErrorKind::stream,
                "MPIX_Allreduce_enqueue cannot be captured into a graph: the operation or the datatype has no kernel, "
                "or the MPI library has no persistent collective operations");
  }
  const int code = queue_all(&comm);
  finish(comm.stream);
  const int its_code = call.run(comm.replies);  // also after an error: the others are in it
  return code != MPI_SUCCESS ? code : its_code;
}

}  // namespace

int allreduce_on_stream(const StreamCommPtr& comm, const StreamAllreduce& call) {
  if (comm->mpix_stream == kNoMpixStream)
    throw Error(ErrorKind::stream, "this process has given the communicator no stream");
  if (call.count < 0) return MPI_ERR_COUNT;
  StreamReductionSlot wanted = slot_of(call);
  Bits own;
  {
    const std::lock_guard lock(stream_comms_mutex());
    comm->thread = std::this_thread::get_id();
    if (!has_operations()) own.matching |= kNoOperations;
  }
  for (std::size_t i = 0; i < StreamComm::kReductions; ++i) {
    const StreamReductionSlot& one = comm->reductions[i];
    if (call.has_kernel && has_arguments(one, wanted)) own.matching |= std::uint64_t{1} << i;
    if (exists(one.input_at) && exists(one.output_at)) own.living |= std::uint64_t{1} << i;
  }
  const Bits common = common_bits(*comm, own, true);
  if ((common.matching & kNoOperations) == 0) {
    await_replies(*comm);
    common_bits(*comm, {}, false);  // all have stopped accepting, and all replies have been received
    queue_all(nullptr);             // a process that waits in one of these exchanges cannot make the reduction
  }
  for (std::size_t i = 0; i < StreamComm::kReductions; ++i) {
    if ((common.living >> i & 1) == 0) end_reduction(*comm, comm->reductions[i]);
  }
  if (!call.has_kernel || real_pmpi().MPI_Allreduce_init == nullptr) return run_now(*comm, call);

  const std::uint64_t slots = common.matching & common.living & ~kNoOperations;
  StreamReductionSlot* slot = slots != 0 ? &comm->reductions[std::countr_zero(slots)] : nullptr;
  int code = slot == nullptr ? make_reduction(*comm, call, std::move(wanted), slot) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = start_enqueue(real_pmpi(), 1, slot->request->slot(), comm->stream);
  const int its_code = queue_all(comm.get());
  if (slot->request && is_captured(comm->stream)) slot->request->is_in_graph = true;
  return code != MPI_SUCCESS ? code : its_code;
}

}  // namespace tempi::message
