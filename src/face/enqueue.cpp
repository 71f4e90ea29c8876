// The functions of include/tempi.h for requests that are started and completed on a stream.
#include "face/enqueue.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "call/call_forms.hpp"
#include "mpi/active.hpp"
#include "mpi/inside.hpp"
#include "stream/enqueue.hpp"

namespace tempi::face {
namespace {

constexpr int kNotLoaded = -1;  // TEMPI_ERR_NOT_LOADED

template <class Fn>
int entered(const Fn& fn) {
  if (!active() || message::is_switched_off()) return kNotLoaded;
  const Inside inside;
  return inside.leave(message::guarded(comm_world(), fn));
}

std::vector<char> c_handles(int count, const int* requests) {
  std::vector<char> handles(static_cast<std::size_t>(std::max(0, count)) * kRequestBytes);
  for (std::size_t i = 0; i * kRequestBytes < handles.size(); ++i)
    store_handle(&handles[i * kRequestBytes], request_of_fortran(requests[i]));
  return handles;
}

}  // namespace

int start_enqueue(int count, void* requests, void* stream) {
  return entered([&] { return message::start_enqueue(real_pmpi(), count, requests, stream); });
}

int wait_enqueue(int count, void* requests, void* stream) {
  return entered([&] { return message::wait_enqueue(real_pmpi(), count, requests, stream); });
}

char* why_no_channel(const void* request) {
  if (!active() || message::is_switched_off()) return nullptr;
  std::string why;
  try {
    why = message::why_no_channel(load_handle(request));
  } catch (...) {
    why = caught_error().what();
  }
  return strdup(why.c_str());
}

int start_fortran_enqueue(int count, const int* requests, void* stream) {
  return entered([&] { return message::start_enqueue(real_pmpi(), count, c_handles(count, requests).data(), stream); });
}

int wait_fortran_enqueue(int count, const int* requests, void* stream) {
  return entered([&] { return message::wait_enqueue(real_pmpi(), count, c_handles(count, requests).data(), stream); });
}

}  // namespace tempi::face

#define TEMPI_EXPORTED extern "C" __attribute__((visibility("default")))

TEMPI_EXPORTED int TEMPI_Startall_enqueue(int count, void* requests, void* stream) {
  return tempi::face::start_enqueue(count, requests, stream);
}
TEMPI_EXPORTED int TEMPI_Waitall_enqueue(int count, void* requests, void* stream) {
  return tempi::face::wait_enqueue(count, requests, stream);
}
TEMPI_EXPORTED int TEMPI_Startall_enqueue_fortran(int count, const int* requests, void* stream) {
  return tempi::face::start_fortran_enqueue(count, requests, stream);
}
TEMPI_EXPORTED int TEMPI_Waitall_enqueue_fortran(int count, const int* requests, void* stream) {
  return tempi::face::wait_fortran_enqueue(count, requests, stream);
}
