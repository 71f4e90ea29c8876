#include "send/start.hpp"

#include "mpi/errors.hpp"
#include "send/engine.hpp"

namespace tempi::send {
namespace {

// A buffered send is started as a new request each time, by the program's call, because its handle changes: Open MPI
// does so by itself while the last bytes are still on their way, and 4.1 sends stale bytes when one is started again.
int start_buffered(const Real& real, const MessagePtr& message, void* request) {
  Engine& engine = Engine::get();
  Engine::flush();
  message->out->move();
  Handle renewed = 0;
  if (const int code = message->renew(&renewed); code != MPI_SUCCESS) return code;
  engine.take(message->request);
  real_pmpi().MPI_Request_free(&message->request);
  const int code = real.MPI_Start(&renewed);
  message->request = renewed;
  message->is_active = code == MPI_SUCCESS;
  engine.manage(message);
  store_handle(request, renewed);
  return code;
}

}  // namespace

int start(const Real& real, void* request) {
  Engine& engine = Engine::get();
  const MessagePtr message = engine.find(load_handle(request));
  if (!message) {
    Engine::flush();
    return real.MPI_Start(request);
  }
  if (message->is_active) return raise(message->comm, MPI_ERR_REQUEST);
  (message->out ? message->out : message->in)->look_again();
  if (message->renew) return start_buffered(real, message, request);
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
  if (!Engine::manages_any()) return real.MPI_Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    if (const int code = start(real, static_cast<char*>(requests) + static_cast<std::size_t>(i) * kRequestBytes);
        code != MPI_SUCCESS) {
      return code;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::send
