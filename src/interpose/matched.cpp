// MPI-4.1, 3.8.2: matching probes.
#include "message/matched.hpp"

#include "interpose/entry.hpp"
#include "message/direct.hpp"
#include "message/message_call.hpp"
#include "mpi/active.hpp"

namespace tempi::interpose {
namespace {

// The handle is null before the call: if it stays null, the call has matched nothing, whatever its code.
template <class Probe>
int probe_matched(Handle comm, void* message, const Probe& probe) noexcept {
  if (message == nullptr || !active()) return probe();
  return guarded_and_tended(comm, [&] {
    store_handle(message, message_null());
    close_meetings(comm);  // before another thread's receive is counted past the message
    const int code = probe();
    const Handle matched = load_handle(message);
    const bool is_one = key_of(matched) != key_of(message_null()) && key_of(matched) != key_of(message_no_proc());
    if (is_one) matched_comms().remember(matched, comm);
    return code;
  });
}

}  // namespace

TEMPI_ENTRY(MPI_Mprobe, (int source, int tag, Handle comm, void* message, MPI_Status* status),
            probe_matched(comm, message, [&] {
              note_probe();
              Engine::flush();
              return real.MPI_Mprobe(source, tag, comm, message, status);
            }))

TEMPI_ENTRY(MPI_Improbe, (int source, int tag, Handle comm, int* flag, void* message, MPI_Status* status),
            probe_matched(comm, message, [&] {
              note_probe();
              Engine::progress();
              return real.MPI_Improbe(source, tag, comm, flag, message, status);
            }))

}  // namespace tempi::interpose
