// Partitioned messages between processes of a node, and within a process (MPI-4.1, chapter 4).
//
// The two ends find each other as those of a channel do (channel_entries.hpp). Requests with the same communicator,
// peer and tag are numbered in the order of MPI_Psend_init and MPI_Precv_init, also those that only the library
// carries. The n-th send pairs with the n-th receive of the other end, as in the library.
//
//     receiver: looks for the send, takes a word for each partition of the sender (segment/arrivals.hpp)
//     sender:   looks for the receive, maps its buffer, lets its GPU write the words of the receiver
//
// Invariants
//   The sender's GPU writes the word of a partition after the partition, in the same queue.
//   The sender writes into the receive buffer only in a round that the receiver has started.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace tempi::message {

std::unique_ptr<PartitionedSend> open_partitioned_send(Handle comm, Transfer& transfer, int n_partitions);
std::unique_ptr<PartitionedReceive> open_partitioned_receive(Handle comm, Transfer& transfer, int n_partitions);
void skip_partitioned(Handle comm, int peer, int tag, bool is_send) noexcept;

}  // namespace tempi::message
