// MPI-4.1, 3.6: memory for buffered sends. The library copies messages into it.
#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "interpose/unstaged.hpp"

namespace tempi::interpose {
namespace {

Error refusal() {
  return {
      ErrorKind::unsupported,
      "the MPI library copies messages into the buffer that is attached for buffered sends: attach host memory, not "
      "GPU memory; the messages themselves may be in GPU memory"};
}

template <class Call>
int attach(Handle comm, const void* buffer, const Call& call) {
  return is_gpu_memory(buffer) ? raise(comm, refusal()) : call();
}

template <class Call>
int attach_to_session(const void* buffer, const Call& call) {
  return is_gpu_memory(buffer) ? error_code(refusal()) : call();
}

}  // namespace

#define TEMPI_ATTACH(Number, suffix)                                                                                \
  TEMPI_ENTRY(MPI_Buffer_attach##suffix, (void* buffer, Number bytes), attach(comm_self(), buffer, [&] {            \
                return call_if_there(real.MPI_Buffer_attach##suffix, buffer, bytes);                                \
              }))                                                                                                   \
  TEMPI_ENTRY(MPI_Comm_attach_buffer##suffix, (Handle comm, void* buffer, Number bytes), attach(comm, buffer, [&] { \
                return call_if_there(real.MPI_Comm_attach_buffer##suffix, comm, buffer, bytes);                     \
              }))                                                                                                   \
  TEMPI_ENTRY(MPI_Session_attach_buffer##suffix, (Handle session, void* buffer, Number bytes),                      \
              attach_to_session(buffer, [&] {                                                                       \
                return call_if_there(real.MPI_Session_attach_buffer##suffix, session, buffer, bytes);               \
              }))

TEMPI_ATTACH(int, )
TEMPI_ATTACH(Count, _c)

}  // namespace tempi::interpose
