// Communicators with a stream of the program, and the messages that are enqueued in it (MPIX_Send_enqueue and the other
// functions of include/tempi_mpix.h).
//
// A message is carried out by persistent requests that are started and completed on the stream (enqueue.hpp). Such a
// request needs its partner: the exchange of a send and a receive that were not made for each other never ends.
// Therefore, the CPUs of both processes first find out which call matches which, and which requests move its data.
//
//     sender                                            receiver
//     announcement: id, bytes, argument set      →      MPI matches it with the calls that receive, with wildcards too
//                                                       accepts it, in a call that waits: finds or makes the request
//                                                       of the two argument sets
//     finds or makes the request                 ←      reply: id, argument set
//     starts it, and queues the exchange                starts it, and queues the exchange
//
// Announcements and replies are messages of a few bytes on communicators of TEMPI. They do not wait for the GPU.
// Announcements have the tags of the program. The status of a receive is known from the announcement.
//
// Glossary
//   stream communicator  a communicator that MPIX_Stream_comm_create has made
//   operation            a message that the program has enqueued
//   argument set, pair   argument_sets.hpp, request_pairs.hpp
//
// Invariants
//   1. A send is agreed when the process has received the reply, a receive when the process has accepted the message.
//   2. A call that waits repeats a look (advance_operations). A look tests which replies were received, then polls the
//      channels of new requests, then receives replies, and then accepts messages.
//   3. After a look, the call may queue operations. It queues all that are agreed, on all streams, because a peer may
//      wait for any of them. It leaves out a new request while its channel is searched for.
//   4. It queues nothing after a look in which a message was agreed or a channel was found, and looks again. It also
//      looks again while a reply is not received or a channel is searched for, but at most for kGrace.
//   5. Before a reduction, the processes of the communicator stop accepting. Each waits until its replies are received.
//      Then all know which messages are agreed, and queue them before the reduction.
//   6. A stream on which another thread queues is left out. The call looks again.
//
//   Because of 2, 3 and 4, kernels of two processes do not wait for each other in a cycle. Proof by contradiction: in a
//   stream, rank 0 queues message X after look L0, and message Y later. In a stream, rank 1 queues Y after look L1, and
//   X later.
//     a. In L0, Y was not agreed on rank 0, or its channel was not found. Otherwise, rank 0 would have queued both.
//     b. Rank 1 queued Y. Therefore, it found the channel before L1. If rank 1 is the sender, it received the reply
//        before L1. If it is the receiver, rank 0 received the reply before the test of L1.
//     c. Hence the test of L0, which precedes its other steps, was before the test of L1.
//     d. In the same way, the test of L1 was before the test of L0.
//   The proof needs that a process that looks receives a reply within kGrace. If a process is stopped (by a debugger or
//   SIGSTOP) between the arrival of a reply and its look, the streams can deadlock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "call/call.hpp"
#include "stream/argument_sets.hpp"
#include "stream/request_pairs.hpp"

namespace tempi::message {

struct Announcement {
  std::uint64_t id;
  std::int64_t bytes;
  std::uint32_t set;
  std::uint32_t forgets;  // 1: both processes forget their pairs in this direction
};
// too_long: nothing moves. failed: nothing moves, but both processes have looked up the pair.
enum class Answer : std::uint16_t { too_long, accepted, failed };
struct Reply {
  std::uint64_t id;
  std::uint32_t set;
  Answer answer;
  std::uint16_t forgets;  // as above
};

struct StreamComm;

struct Operation {
  enum class State : std::uint8_t { announced, agreed, queueing, queued };

  std::shared_ptr<StreamComm> of;  // null: the peer is MPI_PROC_NULL
  bool is_send = false;
  int peer = MPI_PROC_NULL, tag = MPI_ANY_TAG;  // of a receive, once it is agreed: those of the message
  std::int64_t bytes = 0;                       // of the message
  std::uint64_t id = 0;
  std::uint32_t n_forgotten = 0;  // of a send: ArgumentSets::n_forgotten at its announcement
  ArgumentSetPtr set{};
  State state = State::announced;
  OwnRequestPtr request{};  // null: nothing moves
  bool has_way = true;      // false: the request is new, and searches for its channel
  bool is_reply_received = true;
  std::chrono::steady_clock::time_point accepted_at{};  // or: agreed at
  int code = MPI_SUCCESS;

  Announcement announcement{};
  Reply reply{};
  Handle control = request_null();  // of the announcement, or of the reply
};
using OperationPtr = std::shared_ptr<Operation>;

// A persistent reduction, and the arguments that it was made for.
struct StreamReductionSlot {
  OwnRequestPtr request{};
  const void* input = nullptr;
  const void* output = nullptr;
  Count count = 0;
  Handle type = 0, operation = 0;
  device::Location input_at{}, output_at{};
};

// The lock guards the data, except for the reductions: collective calls on a communicator do not overlap.
struct StreamComm {
  static constexpr std::size_t kReductions = 32;

  Handle comm;      // the program's
  int mpix_stream;  // MPIX_STREAM_NULL: this process has none
  device::StreamHandle stream;
  Handle announcements, replies;  // communicators of TEMPI; the second one also has the requests of the pairs
  ArgumentSets sets{};
  RequestPairs pairs{};
  std::list<OperationPtr> operations{};
  std::uint64_t n_ids = 0;
  std::array<StreamReductionSlot, kReductions> reductions{};
  std::uint64_t n_reductions = 0;
  std::vector<OwnRequestPtr> in_graphs{};
  std::thread::id thread{};      // that has used it last
  bool is_in_reduction = false;  // it accepts no messages
};
using StreamCommPtr = std::shared_ptr<StreamComm>;

RecursiveMutex<Lock::stream_comms>& stream_comms_mutex();
const std::vector<StreamCommPtr>& all_stream_comms();  // with the lock
// With the lock: whether `holds` is true of all operations that are not queued yet, or whose reply is not received.
template <class Predicate>
bool all_operations(const Predicate& holds) {
  for (const StreamCommPtr& comm : all_stream_comms()) {
    for (const OperationPtr& one : comm->operations) {
      if (!holds(*one)) return false;
    }
  }
  return true;
}

// `made` is the new communicator of the program. Throws Error.
void add_stream_comm(Handle made, int mpix_stream, device::StreamHandle stream, Handle announcements, Handle replies);
StreamCommPtr find_stream_comm(Handle comm) noexcept;  // null: the program has not made it with a stream

// Enqueues a message. Returns an MPI error code, without a call of the error handler. Throws Error.
int begin_operation(const StreamCommPtr& comm, const Envelope& envelope, OperationPtr& begun);
// Queues the exchanges of these operations, and returns their statuses (of receives). The code is that of the first
// operation that has failed.
int complete_operations(std::span<const OperationPtr> named);
void tell_status(const Operation& operation, MPI_Status* status);

// The request that the program gets for an operation; a persistent one that is never started.
int give_request(const OperationPtr& operation, void* request);
// Null: the request is not one of an operation.
OperationPtr find_operation(Handle request);
void take_request(void* request);  // sets it to MPI_REQUEST_NULL

// ---- for the files of this interface

// False: it has the per-thread default stream, and belongs to another thread.
bool is_of_this_thread(const StreamComm& comm);
// With the lock. Receives replies; with `accepts`, also accepts messages that were announced. True: what is agreed may
// be queued.
bool advance_operations(bool accepts);
inline constexpr std::chrono::milliseconds kGrace{20};

// A look at all operations (advance_operations). If they may be queued, and `is_due()`, queues all that are agreed, on
// all streams. `first`: its stream comes first. `code`: other requests are started on this stream, too; the first error
// of the stream is stored there.
// False: nothing is queued.
bool queue_agreed(const StreamComm* first, bool accepts, FunctionRef<bool()> is_due, int* code = nullptr);
// With the lock. The request lasts until the communicator is freed.
void keep_for_graph(StreamComm& comm, const OwnRequestPtr& request);

// Waits for other processes or threads, and looks (queue_agreed) until `is_done()`. After a while, it queues what is
// agreed although it is not due: other processes may wait for it.
void look_until(FunctionRef<bool()> is_done, bool accepts, FunctionRef<bool()> is_due, const StreamComm* first);
// The same for a call that queues nothing itself.
inline void look_until(FunctionRef<bool()> is_done) {
  look_until(is_done, false, [] { return false; }, nullptr);
}

// The context of the stream; of a default stream: that of the program. Null: there is none.
device::Context context_of(device::Device& device, device::StreamHandle stream);
bool is_captured(device::StreamHandle stream);

struct StreamAllreduce {
  const void* input;
  const void* output;
  Count count;
  Handle type, operation;
  bool has_kernel;                                    // of TEMPI: a persistent reduction may be repeated
  FunctionRef<int(Handle comm, void* request)> init;  // makes the persistent reduction
  FunctionRef<int(Handle comm)> run;                  // carries it out now
};
int allreduce_on_stream(const StreamCommPtr& comm, const StreamAllreduce& call);

}  // namespace tempi::message
