// MPI-4.1, chapter 4: partitioned communication.
#include "collective/partitioned.hpp"

#include "call/call_forms.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {

using namespace collective;

namespace {

int parrived(const Real& real, Handle request, int partition, int* flag) {
  flush_sends();
  const auto library = [&] { return call_if_there(real.MPI_Parrived, request, partition, flag); };
  return tended(flag != nullptr ? has_arrived(request, partition, flag, library) : library());
}

}  // namespace

TEMPI_ENTRY(MPI_Psend_init,
            (const void* buffer, int partitions, Count count, Handle datatype, int destination, int tag, Handle comm,
             Handle info, void* request),
            init_partitioned({real, Function::MPI_Psend_init, pack::Direction::pack, buffer, partitions, count,
                              datatype, destination, tag, comm, request},
                             [&](const void* given, Handle type) {
                               return call_if_there(real.MPI_Psend_init, given, partitions, count, type, destination,
                                                    tag, comm, info, request);
                             }))
TEMPI_ENTRY(MPI_Precv_init,
            (void* buffer, int partitions, Count count, Handle datatype, int source, int tag, Handle comm, Handle info,
             void* request),
            init_partitioned({real, Function::MPI_Precv_init, pack::Direction::unpack, buffer, partitions, count,
                              datatype, source, tag, comm, request},
                             [&](const void* given, Handle type) {
                               return call_if_there(real.MPI_Precv_init, const_cast<void*>(given), partitions, count,
                                                    type, source, tag, comm, info, request);
                             }))

TEMPI_ENTRY(MPI_Pready, (int partition, Handle request), make_ready(request, partition, partition, [&] {
              return call_if_there(real.MPI_Pready, partition, request);
            }))
TEMPI_ENTRY(MPI_Pready_range, (int first, int last, Handle request), make_ready(request, first, last, [&] {
              return call_if_there(real.MPI_Pready_range, first, last, request);
            }))
TEMPI_ENTRY(MPI_Pready_list, (int n, const int* partitions, Handle request), make_ready(request, n, partitions, [&] {
              return call_if_there(real.MPI_Pready_list, n, partitions, request);
            }))
TEMPI_ENTRY(MPI_Parrived, (Handle request, int partition, int* flag), parrived(real, request, partition, flag))

}  // namespace tempi::interpose
