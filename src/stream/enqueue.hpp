// Persistent requests that are started and completed in the order of a stream of the program (TEMPI_Start_enqueue and
// its relatives, include/tempi.h). The CPU does not wait for the stream, nor the stream for the CPU.
//
//     TEMPI_Startall_enqueue    notes the requests, and publishes the ends of their channels the first time
//     TEMPI_Waitall_enqueue     the first time: waits until each end has found the other one, or there is no channel
//                               then: one kernel in the stream for all requests that have a channel
//
// Two ways
//   channel    the transport lets a kernel write into the buffer of the other end, and wait for it
//              (pack/exchange.hpp); can be captured into a graph
//   ordinary   all other requests: the CPU waits for the stream, starts them in their order, and waits for them as
//              MPI_Waitall does
//
// Invariants
//   A wait carries out all exchanges that were started on its stream, whichever requests it names: a peer may wait for
//   any of them.
//   The kernel is queued before the CPU waits for ordinary requests.
//   Both ends of a channel take the same way for good.
#pragma once

#include "device/device.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

// `requests`: addresses of the program's handles. An MPI error code, which the error handler of the request's
// communicator has been told. Throw Error.
int start_enqueue(const Real& real, int count, void* requests, device::StreamHandle stream);
int wait_enqueue(const Real& real, int count, const void* requests, device::StreamHandle stream);

}  // namespace tempi::message
