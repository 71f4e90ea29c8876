// Partitioned messages (MPI-4.1, chapter 4) of GPU memory. They travel in one of two ways:
//   puts     between GPUs of a node: a kernel of the sender writes a partition into the receive buffer when MPI_Pready
//            is called (partitioned_rounds.hpp). The library's request is not started
//   library  the library gets packed bytes in host memory. MPI_Pready packs a partition on the
//            calling thread. The first MPI_Parrived that finds the partition unpacks it. The
//            completion of the message unpacks all other partitions
//
// Glossary
//   partition  `count` elements of the buffer; the other end may divide the message into another number of partitions
//   run        consecutive partitions: one transfer
//   round      one start of the request
//
// Invariants
//   The packed bytes have one place during the life of the request. TEMPI tells the library that a partition is ready
//   after it has packed the partition.
//   A partition that a kernel makes ready (device_ready.hpp) takes the path of MPI_Pready.
//   Any threads may call MPI_Pready and MPI_Parrived while another thread waits for the request.
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
  int peer, tag;
  Handle comm;
  void* request;

  bool is_sent() const { return direction == pack::Direction::pack; }
};

// `library` makes the request over a buffer.
int init_partitioned(const Partitions& given, FunctionRef<int(const void* buffer, Handle type)> library) noexcept;

// `library` calls the library's MPI_Pready, MPI_Pready_range or MPI_Pready_list.
int make_ready(Handle request, int first, int last, FunctionRef<int()> library) noexcept;
int make_ready(Handle request, int n, const int* partitions, FunctionRef<int()> library) noexcept;

// A word for each of the `n` partitions, which kernels set (device_ready.hpp). Null: this is not an inactive send of
// GPU memory. Throws Error.
std::uint32_t* words_of_kernels(Handle request, int& n);

// `library` calls the library's MPI_Parrived.
int has_arrived(Handle request, int partition, int* flag, FunctionRef<int()> library) noexcept;

}  // namespace tempi::collective
