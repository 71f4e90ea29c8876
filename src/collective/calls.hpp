// The collective operations as functions for the entries. `library` is the function of the library, applied to the
// buffers with their counts, displacements and datatypes. The entry adds the remaining arguments. Number: int, or Count
// in the _c forms.
#pragma once

#include "collective/run.hpp"

namespace tempi::collective {

// A description that needs the root.
template <void (*kDescribe)(const Group&, Ends&, int)>
struct Rooted {
  int root;
  void operator()(const Group& group, Ends& ends) const { kDescribe(group, ends, root); }
};

// A description of a reduction, with its operation.
template <void (*kDescribe)(const Group&, Ends&)>
struct Reducing {
  Handle operation;
  void operator()(const Group& group, Ends& ends) const {
    ends.operation = operation;
    kDescribe(group, ends);
  }
};

// A description of MPI_Reduce.
struct ReducingToRoot {
  Handle operation;
  int root;
  void operator()(const Group& group, Ends& ends) const {
    ends.operation = operation;
    describe_reduce(group, ends, root);
  }
};

// A description of MPI_Reduce_scatter.
struct ReducingScattered {
  Handle operation;
  mutable ScatterCounts counts{};
  void operator()(const Group& group, Ends& ends) const {
    ends.operation = operation;
    describe_reduce_scatter(group, ends, counts);
  }
};

// A call with one buffer.
template <class Library, class Number>
int exchange(const Call& call, const Library& library, Describe describe, void* buffer, Number count, Handle type) {
  return run(call, {{}, buffer_of(buffer, count, type)}, describe,
             [&](const GivenArgument&, const GivenArgument& in, const GivenArgument&) {
               return library(in.writable(), count, in.type);
             });
}

// A send buffer and a receive buffer, each with one count.
template <class Library, class Number>
int exchange(const Call& call, const Library& library, Describe describe, const void* sendbuf, Number sendcount,
             Handle sendtype, void* recvbuf, Number recvcount, Handle recvtype) {
  return run(call, {buffer_of(sendbuf, sendcount, sendtype), buffer_of(recvbuf, recvcount, recvtype)}, describe,
             [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
               return library(out.address, sendcount, out.type, in.writable(), recvcount, in.type);
             });
}

// A receive buffer with a count for each block.
template <class Library, class Number, class Displacement>
int exchange(const Call& call, const Library& library, Describe describe, const void* sendbuf, Number sendcount,
             Handle sendtype, void* recvbuf, const Number* recvcounts, const Displacement* rdispls, Handle recvtype) {
  return run(call, {buffer_of(sendbuf, sendcount, sendtype), buffer_of(recvbuf, recvcounts, rdispls, recvtype)},
             describe, [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
               return library(out.address, sendcount, out.type, in.writable(), recvcounts,
                              in.displacements.as<Displacement>(), in.type);
             });
}

// A send buffer with a count for each block.
template <class Library, class Number, class Displacement>
int exchange(const Call& call, const Library& library, Describe describe, const void* sendbuf, const Number* sendcounts,
             const Displacement* sdispls, Handle sendtype, void* recvbuf, Number recvcount, Handle recvtype) {
  return run(call, {buffer_of(sendbuf, sendcounts, sdispls, sendtype), buffer_of(recvbuf, recvcount, recvtype)},
             describe, [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
               return library(out.address, sendcounts, out.displacements.as<Displacement>(), out.type, in.writable(),
                              recvcount, in.type);
             });
}

// Both buffers with a count for each block. Type: Handle, or const void* for a datatype of each
// block.
template <class Library, class Number, class Displacement, class Type>
int exchange(const Call& call, const Library& library, Describe describe, const void* sendbuf, const Number* sendcounts,
             const Displacement* sdispls, Type sendtype, void* recvbuf, const Number* recvcounts,
             const Displacement* rdispls, Type recvtype) {
  return run(call,
             {buffer_of(sendbuf, sendcounts, sdispls, sendtype), buffer_of(recvbuf, recvcounts, rdispls, recvtype)},
             describe, [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
               return library(out.address, sendcounts, out.displacements.as<Displacement>(), out.types_as<Type>(),
                              in.writable(), recvcounts, in.displacements.as<Displacement>(), in.types_as<Type>());
             });
}

// The library computes with elements of the program's datatype.
template <class Library, class Number>
int reduce(const Call& call, const Library& library, Describe describe, const void* sendbuf, void* recvbuf,
           Number count, Handle type) {
  return run(call, {buffer_of(sendbuf, count, type), buffer_of(recvbuf, count, type)}, describe,
             [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
               return library(out.address, in.writable(), count, type);
             });
}

// MPI_Reduce_scatter.
template <class Library, class Number>
int reduce(const Call& call, const Library& library, Describe describe, const void* sendbuf, void* recvbuf,
           const Number* counts, Handle type) {
  Ends ends{buffer_of(sendbuf, 0, type), buffer_of(recvbuf, 0, type)};
  ends.in.counts = counts;
  return run(call, ends, describe, [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
    return library(out.address, in.writable(), counts, type);
  });
}

}  // namespace tempi::collective
