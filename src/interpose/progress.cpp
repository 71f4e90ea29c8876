// Calls that only start pending sends, and calls that pass on untouched.
#include "device/device.hpp"
#include "interpose/entry.hpp"
#include "machine/cuda_aware.hpp"
#include "message/direct.hpp"
#include "message/engine.hpp"
#include "message/lent.hpp"
#include "message/message_call.hpp"
#include "mpi/active.hpp"

namespace tempi::interpose {
namespace {

template <class... Arguments>
int call_flushed(PassedFn fn, Arguments... arguments) {
  Engine::flush();
  return Engine::tended(call_if_there(fn, arguments...));
}

int probe(const Real& real, int source, int tag, Handle comm, MPI_Status* status) {
  note_probe();
  Engine::flush();
  return Engine::tended(real.MPI_Probe(source, tag, comm, status));
}

int iprobe(const Real& real, int source, int tag, Handle comm, int* flag, MPI_Status* status) {
  note_probe();
  Engine::progress();
  return Engine::tended(real.MPI_Iprobe(source, tag, comm, flag, status));
}

// Kernels may fill the partitions of one message at any time: there is no point at which to pack.
template <class Init>
int init_partitioned(const void* buffer, Handle comm, const Init& init) noexcept {
  return guarded(comm, [&] {
    device::Device* const device = active() ? device::current() : nullptr;
    const device::Location found = device != nullptr ? device->locate(buffer) : device::Location{};
    const bool is_device = found.kind == device::MemoryKind::device;
    if (is_device && machine::cuda_awareness().aware) hand_over(found);
    if (is_device && !machine::cuda_awareness().aware) {
      throw Error(ErrorKind::unsupported,
                  "partitioned communication of GPU memory needs a CUDA-aware MPI library, which this one is not (" +
                      machine::cuda_awareness().reason + "); use host or managed memory for it");
    }
    return init();
  });
}

}  // namespace

// A passed-on function has up to kMostArguments parameters; surplus arguments are never read.
#define TEMPI_PASSED_ON(name) TEMPI_ENTRY(name, (TEMPI_WORDS(Word)), call_flushed(real.name, TEMPI_WORDS()))
#include "base/functions.def"

TEMPI_ENTRY(MPI_Iprobe, (int source, int tag, Handle comm, int* flag, MPI_Status* status),
            iprobe(real, source, tag, comm, flag, status))
TEMPI_ENTRY(MPI_Probe, (int source, int tag, Handle comm, MPI_Status* status), probe(real, source, tag, comm, status))

TEMPI_ENTRY(MPI_Psend_init,
            (const void* buffer, int partitions, Count count, Handle datatype, int destination, int tag, Handle comm,
             Handle info, void* request),
            init_partitioned(buffer, comm, [&] {
              return call_if_there(real.MPI_Psend_init, buffer, partitions, count, datatype, destination, tag, comm,
                                   info, request);
            }))
TEMPI_ENTRY(MPI_Precv_init,
            (void* buffer, int partitions, Count count, Handle datatype, int source, int tag, Handle comm, Handle info,
             void* request),
            init_partitioned(buffer, comm, [&] {
              return call_if_there(real.MPI_Precv_init, buffer, partitions, count, datatype, source, tag, comm, info,
                                   request);
            }))

}  // namespace tempi::interpose
