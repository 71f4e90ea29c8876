// Calls that only start pending sends, and calls that pass on untouched.
#include "request/progress.hpp"

#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "interpose/unstaged.hpp"
#include "transport/transports.hpp"

namespace tempi::interpose {
namespace {

int probe(const Real& real, int source, int tag, Handle comm, MPI_Status* status) {
  note_probe();
  flush_sends();
  return tended(real.MPI_Probe(source, tag, comm, status));
}

int iprobe(const Real& real, int source, int tag, Handle comm, int* flag, MPI_Status* status) {
  note_probe();
  make_progress();
  return tended(real.MPI_Iprobe(source, tag, comm, flag, status));
}

}  // namespace

// A passed-on function has up to kMostArguments parameters; surplus arguments are never read.
#define TEMPI_PASSED_ON(name) \
  TEMPI_ENTRY(name, (TEMPI_WORDS(Word)), (pass_on<unstaged(#name)>(real.name, #name, TEMPI_WORDS())))
#include "base/functions.def"

TEMPI_ENTRY(MPI_Iprobe, (int source, int tag, Handle comm, int* flag, MPI_Status* status),
            iprobe(real, source, tag, comm, flag, status))
TEMPI_ENTRY(MPI_Probe, (int source, int tag, Handle comm, MPI_Status* status), probe(real, source, tag, comm, status))

}  // namespace tempi::interpose
