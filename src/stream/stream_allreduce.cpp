// MPIX_Allreduce_enqueue: a persistent reduction that is repeated for the same arguments. The processes agree on it:
// each one has a bit for each reduction that has its arguments, and they take one that all have. They free the
// reductions of which a process has freed a buffer.
#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/yield_until.hpp"
#include "stream/enqueue.hpp"
#include "stream/stream_comm.hpp"
#include "stream/stream_handles.hpp"
#include "stream/stream_turn.hpp"

namespace tempi::message {
namespace {

constexpr std::uint64_t kNoOperations = std::uint64_t{1} << 63, kHasKernel = std::uint64_t{1} << 63;

// Each has a bit for each slot.
struct Bits {
  std::uint64_t matching = 0;  // it has the arguments of this call; also kNoOperations
  std::uint64_t living = 0;    // the program has not freed its buffers; also kHasKernel
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
  return !all_operations([](const Operation& one) { return one.state >= Operation::State::queueing; });
}

// The bits that all processes of the communicator have. Meanwhile, messages are agreed.
Bits common_bits(const StreamComm& comm, const Bits& own, bool accepts) {
  const Real& mpi = real_pmpi();
  Bits common;
  Handle request = request_null();
  int code = mpi.MPI_Iallreduce(&own, &common, sizeof own, type_byte(), op_bitwise_and(), comm.replies, &request);
  bool has_looked = false;  // once at least
  const auto is_done = [&] {
    if (code != MPI_SUCCESS) return true;
    if (!std::exchange(has_looked, true)) return false;
    int flag = 0;
    code = mpi.MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || code != MPI_SUCCESS;
  };
  look_until(is_done, accepts, [] { return false; }, nullptr);
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unexpected, "the processes cannot agree on a reduction");
  return common;
}

// With the lock. Not of other communicators: the peer may already be in the reduction, where it finds no channels.
bool have_ways(const StreamComm& comm) {
  return std::all_of(comm.operations.begin(), comm.operations.end(),
                     [](const OperationPtr& one) { return one->has_way; });
}

// Returns when the senders have received the replies on this communicator. They look, too, because they make the same
// call.
void await_replies(const StreamComm& comm) {
  const auto are_received = [&] {
    const std::lock_guard lock(stream_comms_mutex());
    return std::all_of(comm.operations.begin(), comm.operations.end(), [](const OperationPtr& one) {
      return one->is_send || one->state == Operation::State::announced || is_null(one->control);
    });
  };
  look_until(are_received);
}

// Without accepting more. `of`: this thread has the turn on its stream, which has other requests.
int queue_with(const StreamComm& of) {
  int code = MPI_SUCCESS;
  yield_until(kForever, [&] { return queue_agreed(&of, false, [&] { return have_ways(of); }, &code); });
  return code;
}

// With the lock. False: another thread has to queue them first.
bool are_queued(const StreamComm& comm) {
  return std::all_of(comm.operations.begin(), comm.operations.end(), [](const OperationPtr& one) {
    return one->state == Operation::State::announced || one->state == Operation::State::queued;
  });
}

// All messages that are agreed. A process that waits in one of these exchanges cannot make the reduction.
void queue_all(const StreamComm& comm) {
  yield_until(kForever, [&] {
    const bool is_any_queued = queue_agreed(nullptr, false, [&] { return have_ways(comm); });
    const std::lock_guard lock(stream_comms_mutex());
    return is_any_queued && are_queued(comm);
  });
}

// The messages of other threads are queued meanwhile.
std::unique_ptr<StreamTurn> await_turn(device::StreamHandle stream) {
  std::unique_ptr<StreamTurn> turn;
  look_until([&] { return (turn = StreamTurn::find(stream)) != nullptr; });
  return turn;
}

// While it exists, the communicator accepts no messages.
class AcceptsNone {
 public:
  explicit AcceptsNone(StreamComm& comm) : comm_(comm) { set(true); }
  ~AcceptsNone() { set(false); }
  AcceptsNone(const AcceptsNone&) = delete;
  AcceptsNone& operator=(const AcceptsNone&) = delete;

 private:
  void set(bool is_in_reduction) {
    const std::lock_guard lock(stream_comms_mutex());
    comm_.is_in_reduction = is_in_reduction;
  }
  StreamComm& comm_;
};

// Made in the slot of the oldest one.
int make_reduction(StreamComm& comm, const StreamAllreduce& call, StreamReductionSlot&& made,
                   StreamReductionSlot*& slot) {
  slot = &comm.reductions[comm.n_reductions++ % StreamComm::kReductions];
  *slot = {};
  int code = MPI_SUCCESS;
  made.request = std::make_shared<OwnRequest>([&](void* request) { return call.init(comm.replies, request); }, code);
  if (code == MPI_SUCCESS) *slot = std::move(made);
  return code;
}

void finish(device::StreamHandle stream) {
  device::Device* const device = device::current();
  if (device == nullptr) return;
  const device::Context context = context_of(*device, stream);
  if (context != nullptr) device::Scope(*device, context, {stream, context}).finish();
}

int run_now(StreamComm& comm, const StreamAllreduce& call) {
  if (is_captured(comm.stream)) {
    throw Error(ErrorKind::stream,
                "MPIX_Allreduce_enqueue cannot be captured into a graph: the operation or the datatype has no kernel, "
                "or the MPI library has no persistent collective operations");
  }
  std::unique_ptr<StreamTurn> turn = await_turn(comm.stream);
  const int code = queue_with(comm);
  turn.reset();
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
  if (call.has_kernel && real_pmpi().MPI_Allreduce_init != nullptr) own.living |= kHasKernel;
  const Bits common = common_bits(*comm, own, true);
  const AcceptsNone accepts_none(*comm);
  if ((common.matching & kNoOperations) == 0) {
    await_replies(*comm);
    common_bits(*comm, {}, false);  // all have stopped accepting, and all replies have been received
    queue_all(*comm);
  }
  for (std::size_t i = 0; i < StreamComm::kReductions; ++i) {
    if ((common.living >> i & 1) == 0) comm->reductions[i] = {};
  }
  if ((common.living & kHasKernel) == 0) return run_now(*comm, call);

  const std::uint64_t slots = common.matching & common.living & ~kNoOperations;
  StreamReductionSlot* slot = slots != 0 ? &comm->reductions[std::countr_zero(slots)] : nullptr;
  int code = slot == nullptr ? make_reduction(*comm, call, std::move(wanted), slot) : MPI_SUCCESS;
  const std::unique_ptr<StreamTurn> turn = await_turn(comm->stream);
  if (code == MPI_SUCCESS) code = start_enqueue(real_pmpi(), 1, slot->request->slot(), comm->stream);
  const int its_code = queue_with(*comm);
  if (slot->request && is_captured(comm->stream)) {
    const std::lock_guard lock(stream_comms_mutex());
    keep_for_graph(*comm, slot->request);
  }
  return code != MPI_SUCCESS ? code : its_code;
}

}  // namespace tempi::message
