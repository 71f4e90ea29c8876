// MPI-4.1, 3.8.2: matching probes.
#include "request/matched.hpp"

#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"
#include "request/finish.hpp"
#include "request/noted.hpp"
#include "transport/transports.hpp"

namespace tempi::interpose {
namespace {

// The handle is null before the call: if it stays null, the call has matched nothing, whatever its code.
template <class Probe>
int probe_matched(int source, int tag, Handle comm, void* message, MPI_Status* status, const Probe& probe) noexcept {
  if (message == nullptr || !is_status(status) || !active()) return probe(status);
  return guarded_and_tended(comm, [&] {
    store_handle(message, message_null());
    // Before another thread's receive is counted past the message.
    const UndecidedPtr undecided = note_matched_probe(source, tag, comm);
    SeenStatus seen(status);
    const int code = probe(seen.get());
    const Handle matched = load_handle(message);
    const bool is_one = key_of(matched) != key_of(message_null()) && key_of(matched) != key_of(message_no_proc());
    if (is_one) matched_comms().remember(matched, comm);
    if (undecided) is_one ? undecided->decide(MPI_SUCCESS, *seen.get()) : undecided->decide_nothing();
    return code;
  });
}

}  // namespace

TEMPI_ENTRY(MPI_Mprobe, (int source, int tag, Handle comm, void* message, MPI_Status* status),
            probe_matched(source, tag, comm, message, status, [&](MPI_Status* seen) {
              note_probe();
              flush_sends();
              return real.MPI_Mprobe(source, tag, comm, message, seen);
            }))

TEMPI_ENTRY(MPI_Improbe, (int source, int tag, Handle comm, int* flag, void* message, MPI_Status* status),
            probe_matched(source, tag, comm, message, status, [&](MPI_Status* seen) {
              note_probe();
              make_progress();
              return real.MPI_Improbe(source, tag, comm, flag, message, seen);
            }))

}  // namespace tempi::interpose
