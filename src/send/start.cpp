#include "send/start.hpp"

#include "mpi/errors.hpp"
#include "send/engine.hpp"

namespace tempi::send {
namespace {

// A buffered send is complete when its bytes are in the program's buffer, so that the request itself never starts: Open
// MPI renews the handle of one that is started again while the last bytes are on their way, and 4.1 sends stale bytes.
int start_buffered(Message& message) {
  Engine::flush();
  message.out->move();
  Handle sent = request_null();
  const int code = message.send_buffered(&sent);
  message.is_active = is_made(code, sent);
  if (message.is_active) message.mpi.MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return code;
}

}  // namespace

int start(const Real& real, void* request) {
  Engine& engine = Engine::get();
  const MessagePtr message = request != nullptr ? engine.find(load_handle(request)) : nullptr;
  if (request != nullptr && Engine::is_starting(load_handle(request))) return real.MPI_Start(request);
  if (!message) {
    Engine::flush();
    return real.MPI_Start(request);
  }
  if (message->is_active) return raise(message->comm, MPI_ERR_REQUEST);
  (message->out ? message->out : message->in)->look_again();
  if (message->send_buffered) return start_buffered(*message);
  if (message->out) {
    message->is_active = true;
    engine.post(message);
    return MPI_SUCCESS;
  }
  const int code = real.MPI_Start(request);
  message->is_active = code == MPI_SUCCESS;
  return code;
}

int start_all(const Real& real, int count, void* requests) {
  if (requests == nullptr || count < 0 || !Engine::manages_any()) {
    Engine::flush();
    return real.MPI_Startall(count, requests);
  }
  for (int i = 0; i < count; ++i) {
    if (const int code = start(real, static_cast<char*>(requests) + static_cast<std::size_t>(i) * kRequestBytes);
        code != MPI_SUCCESS) {
      return code;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::send
