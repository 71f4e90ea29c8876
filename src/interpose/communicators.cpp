// MPI-4.1, 7.4.2 and 7.6.2: the calls that make communicators. Those of topologies: topologies.cpp.
#include "interpose/creation.hpp"
#include "interpose/entry.hpp"
#include "peer/peer.hpp"
#include "request/progress_mode.hpp"

namespace tempi::interpose {
namespace {

// The child's handle is set by the completion of the request.
template <class Call>
int begin_create(Handle parent, void* request, const Call& call) noexcept {
  if (!peer::counts_creations()) return call(request);
  peer::Creation creation(parent);
  HandedBack made(request);
  const int code = call(made.address());
  if (!made.is_set() || !is_made(code, made.get())) creation.failed();
  return code;
}

int end_communicator(void* comm, const LibraryFunction<int(void*)>& call) noexcept {
  flush_sends();
  if (comm != nullptr) peer::communicator_ends(load_handle(comm));
  return tended(call(comm));
}

}  // namespace

TEMPI_ENTRY(MPI_Comm_dup, (Handle comm, void* made),
            create(comm, made, kNever, [&](void* into) { return real.MPI_Comm_dup(comm, into); }))

TEMPI_ENTRY(MPI_Comm_dup_with_info, (Handle comm, Handle info, void* made), create(comm, made, kNever, [&](void* into) {
              return call_if_there(real.MPI_Comm_dup_with_info, comm, info, into);
            }))

TEMPI_ENTRY(MPI_Comm_idup, (Handle comm, void* made, void* request), begin_create(comm, request, [&](void* into) {
              return call_if_there(real.MPI_Comm_idup, comm, made, into);
            }))

TEMPI_ENTRY(MPI_Comm_idup_with_info, (Handle comm, Handle info, void* made, void* request),
            begin_create(comm, request, [&](void* into) {
              return call_if_there(real.MPI_Comm_idup_with_info, comm, info, made, into);
            }))

TEMPI_ENTRY(
    MPI_Comm_create, (Handle comm, Handle group, void* made),
    create(comm, made, [] { return true; }, [&](void* into) { return real.MPI_Comm_create(comm, group, into); }))

TEMPI_ENTRY(MPI_Comm_split, (Handle comm, int color, int key, void* made),
            create(
                comm, made, [&] { return color == MPI_UNDEFINED; },
                [&](void* into) { return real.MPI_Comm_split(comm, color, key, into); }))

// MPI-4.1, 7.4.2: hardware types give MPI_COMM_NULL where the hardware is not divided so.
TEMPI_ENTRY(MPI_Comm_split_type, (Handle comm, int split_type, int key, Handle info, void* made),
            create(
                comm, made, [&] { return split_type != MPI_COMM_TYPE_SHARED; },
                [&](void* into) { return call_if_there(real.MPI_Comm_split_type, comm, split_type, key, info, into); }))

TEMPI_ENTRY(MPI_Comm_create_group, (Handle comm, Handle group, int tag, void* made),
            create_by_members(
                made, [&](void* into) { return call_if_there(real.MPI_Comm_create_group, comm, group, tag, into); },
                [&](Handle child) { peer::made_by_group(child, comm, tag); }))

TEMPI_ENTRY(MPI_Intercomm_merge, (Handle comm, int is_high, void* made),
            create_by_members(
                made, [&](void* into) { return real.MPI_Intercomm_merge(comm, is_high, into); }, peer::made_by_merge))

TEMPI_ENTRY(MPI_Comm_free, (void* comm), end_communicator(comm, real.MPI_Comm_free))

TEMPI_ENTRY(MPI_Comm_disconnect, (void* comm), end_communicator(comm, real.MPI_Comm_disconnect))

// MPICH's: threads that are processes of a communicator.
TEMPI_ENTRY(MPIX_Threadcomm_init, (Handle comm, int n_threads, void* made),
            (message::let_calls_overlap(), flush_sends(),
             tended(call_if_there(real.MPIX_Threadcomm_init, comm, n_threads, made))))

}  // namespace tempi::interpose
