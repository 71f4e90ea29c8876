#include "stream/stream_comm.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "peer/peer.hpp"
#include "request/finish.hpp"
#include "stream/stream_handles.hpp"

namespace tempi::message {
namespace {

using State = Operation::State;

struct All {
  std::vector<StreamCommPtr> comms{};
  std::map<Handle, OperationPtr> by_request{};
  std::vector<OperationPtr> unsent{};  // the library may still read their announcements and replies
};

// With the lock.
All& all() {
  static auto& the_all = *new All;  // never destroyed: the library frees communicators while the process exits
  return the_all;
}

// The program frees the communicator. It may still wait for the request of the operation.
void drop(const OperationPtr& one) {
  const Real& mpi = real_pmpi();
  int flag = 0;
  if (!is_null(one->control)) mpi.MPI_Test(&one->control, &flag, MPI_STATUS_IGNORE);
  if (!is_null(one->control)) {
    if (!one->is_send && one->state == State::announced) {
      mpi.MPI_Cancel(&one->control);
      mpi.MPI_Wait(&one->control, MPI_STATUS_IGNORE);
    } else {
      mpi.MPI_Request_free(&one->control);
      all().unsent.push_back(one);
    }
  }
  if (one->state < State::queueing) {
    one->state = State::queued;
    one->code = error_code(Error(ErrorKind::stream,
                                 "the communicator of an enqueued message was freed before the call "
                                 "that waits for the message"));
  }
  one->request.reset();
  one->of.reset();
}

void end(StreamComm& comm) {
  const std::lock_guard lock(stream_comms_mutex());
  std::erase_if(all().comms, [&](const StreamCommPtr& one) { return one.get() == &comm; });
  for (const OperationPtr& one : comm.operations) drop(one);
  comm.operations.clear();
  for (const auto& [request, one] : all().by_request) {
    if (one->of.get() != &comm) continue;
    one->request.reset();
    one->of.reset();
  }
  comm.pairs.clear();
  comm.sets.clear();
  comm.reductions = {};
  comm.in_graphs.clear();
  for (Handle* own : {&comm.announcements, &comm.replies}) {
    peer::communicator_ends(*own);
    real_pmpi().MPI_Comm_free(own);
  }
}

// If the library frees the communicator without the program, as at MPI_Finalize, no function of MPI may be called, and
// the data remains.
class StreamAttachment final : public peer::Attachment {
 public:
  void communicator_ends() noexcept override try {
    if (const StreamCommPtr its = std::exchange(comm, nullptr)) end(*its);
  } catch (...) {
    error_code(caught_error());
  }
  StreamCommPtr comm{};
};

std::unique_ptr<peer::Attachment> make_attached(Handle) { return std::make_unique<StreamAttachment>(); }

int announce(Operation& one, Handle comm) {
  const Real& mpi = real_pmpi();
  constexpr int kBytes = sizeof(Announcement);
  if (!one.is_send) return mpi.MPI_Irecv(&one.announcement, kBytes, type_byte(), one.peer, one.tag, comm, &one.control);
  one.n_forgotten = one.of->sets.n_forgotten();
  const bool forgets = one.n_forgotten != one.of->pairs.n_forgotten(one.peer, true);
  one.announcement = {one.id, one.bytes, one.set->number, forgets ? 1u : 0u};
  return mpi.MPI_Isend(&one.announcement, kBytes, type_byte(), one.peer, one.tag, comm, &one.control);
}

}  // namespace

RecursiveMutex<Lock::stream_comms>& stream_comms_mutex() {
  static auto& mutex = *new RecursiveMutex<Lock::stream_comms>;  // never destroyed
  return mutex;
}

const std::vector<StreamCommPtr>& all_stream_comms() { return all().comms; }

void add_stream_comm(Handle made, int mpix_stream, device::StreamHandle stream, Handle announcements, Handle replies) {
  auto* const attached = static_cast<StreamAttachment*>(peer::attachment(made, peer::Attached::stream, make_attached));
  if (attached == nullptr) throw Error(ErrorKind::unexpected, "a communicator cannot be watched");
  attached->comm = std::make_shared<StreamComm>(made, mpix_stream, stream, announcements, replies);
  const std::lock_guard lock(stream_comms_mutex());
  all().comms.push_back(attached->comm);
}

StreamCommPtr find_stream_comm(Handle comm) noexcept {
  const auto* const attached = static_cast<StreamAttachment*>(peer::known_attachment(comm, peer::Attached::stream));
  return attached != nullptr ? attached->comm : nullptr;
}

int begin_operation(const StreamCommPtr& comm, const Envelope& envelope, OperationPtr& begun) {
  if (comm->mpix_stream == kNoMpixStream)
    throw Error(ErrorKind::stream, "this process has given the communicator no stream");
  if (envelope.buffer.count < 0) return MPI_ERR_COUNT;
  const std::lock_guard lock(stream_comms_mutex());
  comm->thread = std::this_thread::get_id();
  if (const auto refusal = find_refusal(envelope.buffer.datatype, comm->replies)) return *refusal;
  auto one = std::make_shared<Operation>();
  one->is_send = envelope.buffer.direction == pack::Direction::pack;
  if (envelope.peer == MPI_PROC_NULL) {
    one->state = State::queued;
    begun = std::move(one);
    return MPI_SUCCESS;
  }
  one->of = comm;
  one->peer = envelope.peer;
  one->tag = envelope.tag;
  one->id = comm->n_ids++;
  bool is_new = false;
  one->set = comm->sets.take(envelope.buffer, is_new);
  if (is_new) {  // its memory may be that of a freed buffer
    for (const StreamCommPtr& other : all_stream_comms()) other->sets.forget_freed();
  }
  one->bytes = one->set->bytes;
  if (const int code = announce(*one, comm->announcements); code != MPI_SUCCESS) {
    one->set->is_busy = false;
    return code;
  }
  comm->operations.push_back(one);
  begun = std::move(one);
  return MPI_SUCCESS;
}

void tell_status(const Operation& operation, MPI_Status* status) {
  if (is_ignored(status)) return;
  if (operation.peer == MPI_PROC_NULL || operation.is_send) {
    say_nobody(*status);
    if (operation.is_send) status->MPI_SOURCE = MPI_ANY_SOURCE;
  } else {
    status->MPI_SOURCE = operation.peer;
    status->MPI_TAG = operation.tag;
    real_pmpi().MPI_Status_set_elements_x(status, type_byte(), std::min(operation.bytes, operation.set->bytes));
  }
  real_pmpi().MPI_Status_set_cancelled(status, 0);
}

int give_request(const OperationPtr& operation, void* request) {
  const std::lock_guard lock(stream_comms_mutex());
  const int code = real_pmpi().MPI_Recv_init(nullptr, 0, type_byte(), 0, 0, comm_self(), request);
  if (code == MPI_SUCCESS) all().by_request[key_of(load_handle(request))] = operation;
  return code;
}

OperationPtr find_operation(Handle request) {
  const std::lock_guard lock(stream_comms_mutex());
  const auto found = all().by_request.find(key_of(request));
  return found != all().by_request.end() ? found->second : nullptr;
}

void take_request(void* request) {
  const std::lock_guard lock(stream_comms_mutex());
  if (all().by_request.erase(key_of(load_handle(request))) != 0) real_pmpi().MPI_Request_free(request);
}

}  // namespace tempi::message
