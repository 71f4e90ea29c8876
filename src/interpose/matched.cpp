// MPI-4.1, 3.8.2: matching probes.
#include "interpose/matched.hpp"

#include "interpose/entry.hpp"
#include "interpose/message_call.hpp"
#include "interpose/state.hpp"

namespace tempi::interpose {
namespace {

// The handle is null to start with: where it stays so, the call has matched nothing, whatever its code says.
template <class Probe>
int probe_matched(Handle comm, void* message, const Probe& probe) noexcept {
  if (message == nullptr || !active()) return probe();
  return guarded_and_tended(comm, [&] {
    store_handle(message, message_null());
    const int code = probe();
    const Handle matched = load_handle(message);
    const bool is_one = key_of(matched) != key_of(message_null()) && key_of(matched) != key_of(message_no_proc());
    if (is_one) matched_comms().remember(matched, comm);
    return code;
  });
}

}  // namespace

void MatchedComms::remember(Handle message, Handle comm) {
  const std::lock_guard lock(mutex_);
  comms_[key_of(message)] = comm;
}

std::optional<Handle> MatchedComms::take(Handle message) {
  const std::lock_guard lock(mutex_);
  const auto found = comms_.extract(key_of(message));
  return found ? std::optional(found.mapped()) : std::nullopt;
}

MatchedComms& matched_comms() {
  static auto& all = *new MatchedComms;
  return all;
}

TEMPI_ENTRY(MPI_Mprobe, (int source, int tag, Handle comm, void* message, MPI_Status* status),
            probe_matched(comm, message, [&] {
              send::Engine::flush();
              return real.MPI_Mprobe(source, tag, comm, message, status);
            }))

TEMPI_ENTRY(MPI_Improbe, (int source, int tag, Handle comm, int* flag, void* message, MPI_Status* status),
            probe_matched(comm, message, [&] {
              send::Engine::progress();
              return real.MPI_Improbe(source, tag, comm, flag, message, status);
            }))

}  // namespace tempi::interpose
