// The announcements and the replies of enqueued messages (stream_comm.hpp).
#include <algorithm>

#include "base/error.hpp"
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

// Nothing moves.
void drop_request(Operation& one) {
  one.request.reset();
  one.has_way = true;
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

// Of the pair. The channel of a new request is looked for in the next look.
void find_request(Operation& one, const PairedSets& sets) {
  bool is_new = false;
  one.request = one.of->pairs.get(
      one.peer, one.is_send, sets,
      [&](int tag, void* request) {
        is_new = true;
        return make_request(one, tag, request);
      },
      one.code);
  if (one.request) one.has_way = look_for_channel(one.request->handle(), false) && !is_new;
  else if (one.code == MPI_SUCCESS) one.code = MPI_ERR_OTHER;  // its making has failed for an earlier message
}

void agree(Operation& one, const PairedSets& sets) {
  one.accepted_at = Clock::now();
  try {
    find_request(one, sets);
  } catch (...) {
    one.code = error_code(caught_error());
  }
  if (one.code != MPI_SUCCESS) drop_request(one);
}

void accept(Operation& one, const MPI_Status& announced) {
  const Announcement& its = one.announcement;
  one.peer = announced.MPI_SOURCE;
  one.tag = announced.MPI_TAG;
  one.bytes = its.bytes;
  const bool fits = its.bytes <= one.set->bytes;
  const std::uint32_t n_forgotten = one.of->sets.n_forgotten();
  const bool forgets = n_forgotten != one.of->pairs.n_forgotten(one.peer, false);
  if (forgets || its.forgets != 0) one.of->pairs.forget(one.peer, false);
  one.of->pairs.n_forgotten(one.peer, false) = n_forgotten;
  if (fits) agree(one, {.send = its.set, .receive = one.set->number});
  else one.code = MPI_ERR_TRUNCATE;
  const Answer answer = !fits ? Answer::too_long : one.code == MPI_SUCCESS ? Answer::accepted : Answer::failed;
  one.reply = {its.id, one.set->number, answer, forgets};
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

// Also forgets operations that have ended. If an announcement cannot be sent, its send ends.
void test_replies(StreamComm& comm) {
  std::erase_if(comm.operations, [](const OperationPtr& one) {
    if (one->state == State::announced) {
      if (one->is_send && is_complete(*one, MPI_STATUS_IGNORE) && one->code != MPI_SUCCESS) one->state = State::agreed;
      return false;
    }
    const bool is_done = is_complete(*one, MPI_STATUS_IGNORE);
    if (is_done) one->is_reply_received = true;
    return is_done && one->state == State::queued;
  });
}

// True: there were some.
bool receive_replies(StreamComm& comm) {
  const Real& mpi = real_pmpi();
  bool has_found = false;
  const auto waits = [](const OperationPtr& one) { return one->is_send && one->state == State::announced; };
  constexpr int kProbes = 2;  // Open MPI looks for messages that have arrived, and then receives more
  for (int n_missed = 0; n_missed < kProbes && std::any_of(comm.operations.begin(), comm.operations.end(), waits);) {
    int flag = 0;
    MPI_Status status{};
    if (mpi.MPI_Iprobe(MPI_ANY_SOURCE, kReplyTag, comm.replies, &flag, &status) != MPI_SUCCESS) break;
    if (flag == 0) {
      ++n_missed;
      continue;
    }
    Reply reply{};
    const int peer = status.MPI_SOURCE;
    if (mpi.MPI_Recv(&reply, sizeof reply, type_byte(), peer, kReplyTag, comm.replies, &status) != MPI_SUCCESS) break;
    const auto found = std::find_if(comm.operations.begin(), comm.operations.end(), [&](const OperationPtr& one) {
      return waits(one) && one->peer == peer && one->id == reply.id;
    });
    if (found == comm.operations.end()) continue;
    Operation& one = **found;
    if (reply.forgets != 0 || one.announcement.forgets != 0) one.of->pairs.forget(peer, true);
    one.of->pairs.n_forgotten(peer, true) = one.n_forgotten;
    if (reply.answer != Answer::too_long) agree(one, {.send = one.set->number, .receive = reply.set});
    if (reply.answer == Answer::failed) {
      drop_request(one);
      one.code = error_code(Error(ErrorKind::stream, "the receiver of an enqueued message has an error"));
    }
    one.state = State::agreed;
    has_found = true;
  }
  return has_found;
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
  for (const StreamCommPtr& comm : comms) test_replies(*comm);
  for (const StreamCommPtr& comm : comms) has_found = look_for_channels(*comm, begun) || has_found;
  for (const StreamCommPtr& comm : comms) {
    if (is_of_this_thread(*comm)) has_found = receive_replies(*comm) || has_found;
  }
  for (const StreamCommPtr& comm : comms) {
    if (accepts && !comm->is_in_reduction && is_of_this_thread(*comm)) accept_announced(*comm);
  }
  return !has_found && all_operations([&](const Operation& one) {
    const bool is_settled = one.has_way && one.is_reply_received;
    return one.state != State::agreed || is_settled || begun - one.accepted_at >= kGrace;
  });
}

}  // namespace tempi::message
