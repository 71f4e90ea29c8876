// MPI-4.1, chapter 4: messages in partitions. The library is given packed bytes in memory of the host, never GPU
// memory: a partition is packed by MPI_Pready, on the thread that calls it, and unpacked by the first MPI_Parrived that
// is told of it, or with the whole message at its completion.
//
// Glossary
//   partition  `count` elements of the buffer; the other end may divide the message into another number of them
//   run        partitions that follow each other: one transfer
//
// Invariants
//   The packed bytes have one place for the life of the request. The library is told of a partition after it is packed.
//   Any threads may make partitions ready and ask for their arrival, while another one waits for the request.
#pragma once

#include "base/function_ref.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

// The arguments of MPI_Psend_init or MPI_Precv_init.
struct Partitions {
  const Real& real;
  Function function;
  pack::Direction direction;  // pack: it is sent
  const void* buffer;
  int n;
  Count count;
  Handle type;
  int peer;
  Handle comm;
  void* request;
};

// `library` makes the request over a buffer.
int init_partitioned(const Partitions& given, FunctionRef<int(const void* buffer, Handle type)> library) noexcept;

// `library` tells it that the partitions are ready.
int make_ready(Handle request, int first, int last, FunctionRef<int()> library) noexcept;
int make_ready(Handle request, int n, const int* partitions, FunctionRef<int()> library) noexcept;

// `library` asks whether the partition has arrived.
int has_arrived(Handle request, int partition, int* flag, FunctionRef<int()> library) noexcept;

}  // namespace tempi::collective
