// Starts persistent requests, some of which are managed. `real`: the functions to which the program's call goes, MPI_
// or PMPI_. Addresses of requests are those of the program.
//
// The way of managed requests from MPI_Startall (interpose/completion.cpp) to the kernels
//   receives  start_all ▶ start_one ▶ post_noted: Transport::post_receive, the library's MPI_Start, Transport::posted
//   sends     start_all, with a SharedLaunch ▶ start_one ▶ PendingSends::post: Transport::post_send, Transport::match
//   launch    at the end of the SharedLaunch: PendingSends::release ▶ SendLaunches::launch ▶ pack_grouped
//             (grouped_packing.cpp) ▶ pack::Batch. Puts: Transport::put, queue_merged (pack/merged.hpp). Packed
//             messages: PackedBuffer::join. Both ▶ pack::Launch ▶ device::Scope::launch (one dense block: Scope::copy).
//             A put in chunks has launches of its own: Transport::queue_chunks ▶ pack::ChunkLanes. A put that had no
//             receive in post is matched at the end of the SharedLaunch (match_unmatched)
//
// Then MPI_Waitall
//   wait_all (completion.cpp) ▶ flush_needed (progress.hpp): early FIN messages; the other pending sends start
//   ▶ wait_for_bounce_buffers (wait_unpacking.hpp): unpacks chunks as they arrive ▶ the library's MPI_Waitall
//   ▶ end_early_fins ▶ finish_all ▶ unpack ▶ unpack_grouped (grouped_packing.cpp)
#pragma once

#include "mpi/real.hpp"

namespace tempi::message {

int start(const Real& real, void* request);
// By the thread that carries out exchanges in the order of a stream.
int start_for_stream(const Real& real, void* request);
int start_all(const Real& real, int count, void* requests);

}  // namespace tempi::message
