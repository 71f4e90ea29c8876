// Persistent requests that are started and completed in the order of a stream of the program (TEMPI_Start_enqueue,
// TEMPI_Wait_enqueue and their array forms, include/tempi.h; face/enqueue.cpp has the C functions). With channels, and
// after the first wait, neither the CPU nor the stream waits for the other.
//
//   TEMPI_Startall_enqueue  records the requests. The first start of a request also publishes its
//                           side of the channel
//   TEMPI_Waitall_enqueue   queues one kernel in the stream for all requests that have a channel.
//                           Collective operations of several rounds have kernels of their own.
//                           Before that, the first wait of a request waits until both ends have
//                           found each other, or until there is no channel
//
// A request is exchanged in one of two ways:
//   channel   the transport lets a kernel write into the buffer of the other end, and wait for the other end
//             (pack/exchange.hpp). The kernel can be captured into a graph
//   ordinary  all other requests. By default, the CPU waits for the stream, starts the requests in their order, and
//             waits for them like MPI_Waitall. With TEMPI_PROGRESS=thread, from the second exchange of a request on,
//             the same kernel waits for the progress thread instead, which starts and completes the requests. The
//             thread does not exchange requests whose peer uses the same GPU (stream/ordinary.hpp)
//
// A persistent collective operation is expanded into rounds of point-to-point requests (request/stream_rounds.hpp).
// TEMPI_Startall_enqueue records these requests in place of the operation. An operation without rounds is an ordinary
// request.
//   one round       its requests are exchanged together with the requests of the wait that have no rounds
//   several rounds  each round queues its own kernels, and then exchanges its requests, if it has any. These operations
//                   are carried out last, one after the other, in the order of their starts
//
// From the wait to the GPU: wait_enqueue ▶ take_started ▶ carry_out ▶ prepare, carry_out_round ▶ queue ▶
// prepared_exchange (exchanges.hpp) ▶ pack::PreparedExchange::launch ▶ device::Scope::launch in the program's stream.
//
// Example: a wait for a send S, two reductions R1 and R2 of three rounds (collective/stream_reduction.hpp), and a
// broadcast B of one round, started in this order
//   S and B in one exchange; then R1: rounds 0, 1, 2; then R2: rounds 0, 1, 2
//
// Invariants
//   A wait carries out all exchanges that were started on its stream, whichever requests it names, because a peer may
//   wait for any of them. If nothing was started, the wait only reports errors of earlier exchanges.
//   In each exchange, the kernel is queued before the CPU waits for ordinary requests.
//   A process that waits for each operation of several rounds alone makes the same exchanges in the same order as a
//   process that waits for all of them at once. After an error in a round, the later rounds are queued as well, because
//   the other processes wait for them.
//   Both ends of a pair use the same way, and never change it.
//   One thread at a time carries out the exchanges of a stream. Another thread waits for it, because the first one may
//   carry out what the other has started.
#pragma once

#include <string>

#include "device/device.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

// `requests`: the address of the program's handles. Both functions return an MPI error code, after they have called the
// error handler of the request's communicator. Both throw Error.
int start_enqueue(const Real& real, int count, void* requests, device::StreamHandle stream);
int wait_enqueue(const Real& real, int count, const void* requests, device::StreamHandle stream);

// Why exchanges of this request have no channel; empty: they have one. For a collective operation with rounds: the
// reason of the first request of its rounds that has no channel. Throws Error.
std::string why_no_channel(Handle request);

}  // namespace tempi::message
