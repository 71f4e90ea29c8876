// MPI-4.1, 3.10: nonblocking send-receive, by the library's Isend and a persistent receive. Not by its MPI_Isendrecv,
// whose status is empty in MPICH.
#include <utility>

#include "base/recycled.hpp"
#include "call/call.hpp"
#include "request/finish.hpp"
#include "request/progress.hpp"

namespace tempi::message {
namespace {

Made make_receive(const Call& call, FoundEndpoint&& found) {
  const Envelope& in = *call.in;
  const Handle comm = in.buffer.comm;
  const auto init = [&](const Given&, const Given& given, void* made) {
    return call_given(call.real.MPI_Recv_init, call.real.MPI_Recv_init_c, comm, given, in.peer, in.tag, comm, made);
  };
  return make_message({call.real, Lifetime::ours, nullptr, call.in, nullptr}, std::move(found), init);
}

MessagePtr message_of(const Real& real, Handle request, Handle comm) {
  if (MessagePtr managed = ManagedRequests::get().take(request)) return managed;
  auto plain = make_recycled<Message>(real, comm, Lifetime::plain);
  plain->request = request;
  plain->state.become(MessageState::started);
  return plain;
}

class OutgoingSend final : public Continuation {
 public:
  explicit OutgoingSend(MessagePtr sent) : sent_(std::move(sent)) {}
  bool has_ended(Message&, bool waits) noexcept override { return end_orphan(sent_, waits); }

 private:
  const MessagePtr sent_;
};

// MPI_PROC_NULL: the request is the send's. Libraries share one request among receives from nobody, or take a
// persistent one for inactive.
int send_alone(const Call& call, FoundEndpoint&& out) {
  Handle sent = request_null();
  const int code = send_outgoing(call, std::move(out), &sent);
  if (!is_made(code, sent)) return code;
  if (const MessagePtr managed = ManagedRequests::get().find(sent)) managed->receives_from_nobody = true;
  store_handle(call.result, sent);
  return code;
}

}  // namespace

int isendrecv(const Call& call, Endpoints&& endpoints) {
  if (call.in->peer == MPI_PROC_NULL) return send_alone(call, std::move(endpoints.out));
  const auto [receive, receive_code] = make_receive(call, std::move(endpoints.in));
  if (!receive) return receive_code;
  Handle sent = request_null();
  const int code = guarded(call.comm(), [&] { return send_outgoing(call, std::move(endpoints.out), &sent); });
  if (!is_made(code, sent)) {
    call.real.MPI_Request_free(&receive->request);
    return code;
  }
  receive->continuation = std::make_shared<OutgoingSend>(message_of(call.real, sent, call.comm()));
  const auto start = [&] { return call.real.MPI_Start(&receive->request); };
  // One buffer: the peer may not write what is not sent yet.
  const bool is_published = !receive->ins.empty() && !call.is_one_buffer;
  if (!is_published) receive->undecided = note(nullptr, call.in, false).undecided;
  receive->start_code = is_published ? post_noted(*receive, start) : start();
  receive->state.become(receive->start_code == MPI_SUCCESS ? MessageState::started : MessageState::failed);
  ManagedRequests::get().manage(receive);
  store_handle(call.result, receive->request);
  return MPI_SUCCESS;
}

}  // namespace tempi::message
