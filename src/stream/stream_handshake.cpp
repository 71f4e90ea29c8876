// The announcements and the replies of enqueued messages (stream_comm.hpp).
#include <algorithm>

#include "base/options.hpp"
#include "stream/on_stream.hpp"
#include "stream/stream_comm.hpp"

namespace tempi::message {
namespace {

using State = Operation::State;
using Clock = std::chrono::steady_clock;

constexpr int kReplyTag = 0;
constexpr std::uintptr_t kPerThread = 2;  // the default stream of each thread

bool is_complete(Operation& one, MPI_Status* status) {
  if (is_null(one.control)) return true;
  int flag = 0;
  const int code = real_pmpi().MPI_Test(&one.control, &flag, status);
  if (code != MPI_SUCCESS) one.code = code;
  return flag != 0 || code != MPI_SUCCESS;
}

int make_request(const Operation& one, int tag, void* request) {
  const Buffer& buffer = one.set->buffer;
  const Handle comm = one.of->replies;
  const Envelope envelope{
      {buffer.function, buffer.direction, buffer.address, buffer.count, buffer.datatype, comm}, one.peer, tag};
  const Real& mpi = real_pmpi();
  const bool fits = fits_int(buffer.count);
  const auto call = [&](const Given& given, void* made) {
    if (one.is_send)
      return call_given(mpi.MPI_Send_init, fits ? nullptr : mpi.MPI_Send_init_c, comm, given, one.peer, tag, comm,
                        made);
    return call_given(mpi.MPI_Recv_init, fits ? nullptr : mpi.MPI_Recv_init_c, comm, given, one.peer, tag, comm, made);
  };
  return run(
      {mpi, Lifetime::programs, one.is_send ? &envelope : nullptr, one.is_send ? nullptr : &envelope, request},
      [&] { return call(as_given(envelope.buffer), request); },
      [&](const Given& out, const Given& in, void* made) { return call(one.is_send ? out : in, made); });
}

// Both processes know both argument sets now, and look for the request.
void find_request(Operation& one, const PairedSets& sets) {
  bool is_new = false;
  one.request = one.of->pairs.get(
      one.peer, one.is_send, sets,
      [&](int tag, void* request) {
        is_new = true;
        return make_request(one, tag, request);
      },
      one.code);
  one.accepted_at = Clock::now();
  if (one.request) one.has_way = look_for_channel(one.request->handle(), false) && !is_new;
  else if (one.code == MPI_SUCCESS) one.code = MPI_ERR_OTHER;  // it could not be made earlier
}

void accept(Operation& one, const MPI_Status& announced) {
  const Announcement& its = one.announcement;
  one.peer = announced.MPI_SOURCE;
  one.tag = announced.MPI_TAG;
  one.bytes = its.bytes;
  const bool fits = its.bytes <= one.set->bytes;
  const std::uint32_t n_freed = one.of->sets.n_freed();
  const bool forgets = n_freed != one.of->pairs.n_freed(one.peer, false);
  if (forgets || its.forgets != 0) one.of->pairs.forget(one.peer, false);
  one.of->pairs.n_freed(one.peer, false) = n_freed;
  if (fits) find_request(one, {.send = its.set, .receive = one.set->number});
  else one.code = MPI_ERR_TRUNCATE;
  one.reply = {its.id, one.set->number, fits, forgets};
  one.state = State::agreed;
  one.is_reply_received = false;
  const int code = real_pmpi().MPI_Issend(&one.reply, sizeof(Reply), type_byte(), one.peer, kReplyTag, one.of->replies,
                                          &one.control);
  if (code != MPI_SUCCESS) one.code = code;
  one.accepted_at = Clock::now();
}

// True: it has found one, or that there is none.
bool look_for_channels(StreamComm& comm, Clock::time_point now) {
  bool has_found = false;
  for (const OperationPtr& one : comm.operations) {
    if (one->has_way) continue;
    const auto limit = std::chrono::milliseconds(number(Option::CHANNEL_TIMEOUT));
    one->has_way = look_for_channel(one->request->handle(), now - one->accepted_at >= limit);
    if (!one->has_way) continue;
    one->is_reply_received = true;
    has_found = true;
  }
  return has_found;
}

// Also forgets operations that have ended.
void test_replies(StreamComm& comm) {
  std::erase_if(comm.operations, [](const OperationPtr& one) {
    const bool is_done = one->state > State::announced && is_complete(*one, MPI_STATUS_IGNORE);
    if (is_done) one->is_reply_received = true;
    return is_done && one->state == State::queued;
  });
}

void receive_replies(StreamComm& comm) {
  const Real& mpi = real_pmpi();
  const auto waits = [](const OperationPtr& one) { return one->is_send && one->state == State::announced; };
  while (std::any_of(comm.operations.begin(), comm.operations.end(), waits)) {
    int flag = 0;
    MPI_Status status{};
    if (mpi.MPI_Iprobe(MPI_ANY_SOURCE, kReplyTag, comm.replies, &flag, &status) != MPI_SUCCESS || flag == 0) return;
    Reply reply{};
    const int peer = status.MPI_SOURCE;
    if (mpi.MPI_Recv(&reply, sizeof reply, type_byte(), peer, kReplyTag, comm.replies, &status) != MPI_SUCCESS) return;
    const auto found = std::find_if(comm.operations.begin(), comm.operations.end(), [&](const OperationPtr& one) {
      return waits(one) && one->peer == peer && one->id == reply.id;
    });
    if (found == comm.operations.end()) continue;
    Operation& one = **found;
    if (reply.forgets != 0 || one.announcement.forgets != 0) one.of->pairs.forget(peer, true);
    one.of->pairs.n_freed(peer, true) = one.n_freed;
    if (reply.accepts != 0) find_request(one, {.send = one.set->number, .receive = reply.set});
    one.state = State::agreed;
  }
}

void accept_announced(StreamComm& comm) {
  for (const OperationPtr& one : comm.operations) {
    if (one->is_send || one->state != State::announced) continue;
    MPI_Status status{};
    if (!is_complete(*one, &status)) continue;
    if (one->code == MPI_SUCCESS) accept(*one, status);
    else one->state = State::agreed;
  }
}

}  // namespace

bool is_of_this_thread(const StreamComm& comm) {
  return reinterpret_cast<std::uintptr_t>(comm.stream) != kPerThread || comm.thread == std::this_thread::get_id();
}

bool advance_operations(bool accepts) {
  const Clock::time_point begun = Clock::now();
  const std::vector<StreamCommPtr>& comms = all_stream_comms();
  bool has_found = false;
  for (const StreamCommPtr& comm : comms) {
    has_found = look_for_channels(*comm, begun) || has_found;
    test_replies(*comm);
  }
  for (const StreamCommPtr& comm : comms) {
    if (is_of_this_thread(*comm)) receive_replies(*comm);
  }
  for (const StreamCommPtr& comm : comms) {
    if (accepts && is_of_this_thread(*comm)) accept_announced(*comm);
  }
  return !has_found && std::all_of(comms.begin(), comms.end(), [&](const StreamCommPtr& comm) {
    return std::all_of(comm->operations.begin(), comm->operations.end(), [&](const OperationPtr& one) {
      const bool is_settled = one->has_way && one->is_reply_received;
      return one->state != State::agreed || is_settled || begun - one->accepted_at >= kGrace;
    });
  });
}

}  // namespace tempi::message
