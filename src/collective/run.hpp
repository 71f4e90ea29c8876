// A call that carries data between the processes of a communicator, as the entries of interpose/ describe it, and the
// one place where it is carried out.
//
// Glossary
//   describe   says what the library does with the arguments on this process (ends.hpp)
//   library    the library's function of the call's name, over given arguments
//
// Invariants
//   The library's function is called once, with the arguments of the program in all but the buffers, their datatypes
//   and displacements. An argument that is not staged is passed on as the program gave it, whatever the other one is,
//   but for a block that is copied already, whose datatype is empty.
#pragma once

#include "base/counters.hpp"
#include "base/function_ref.hpp"
#include "collective/ends.hpp"
#include "request/message.hpp"

namespace tempi::collective {

using Describe = FunctionRef<void(const Group& group, Ends& ends)>;
using DescribeAlone = FunctionRef<void(Ends& ends)>;
using Library = FunctionRef<int(const GivenArgument& out, const GivenArgument& in, const GivenArgument& compared)>;
// Takes over a call that another call of the program completes; `given` is the buffer of a call with one.
using Keep = FunctionRef<void(message::MessagePtr call, const GivenArgument& given)>;

// The object whose error handler is told of our errors.
enum class Owner : std::uint8_t { comm, file, window };

struct Call {
  const Real& real;  // the layer below the name that the program called
  Function function;
  Handle comm;                 // MPI_COMM_NULL: of a file or a window
  message::Lifetime lifetime;  // call, plain (nonblocking) or programs (persistent)
  void* request = nullptr;     // address of the program's
  const Keep* keep = nullptr;  // of nonblocking calls without a request, and of those that another call may complete
  Owner owner = Owner::comm;
  Handle owned_by = comm;

  bool blocks() const { return lifetime == message::Lifetime::call; }
  // Initialisation may wait for the other processes, too, and so may access to a file or a window.
  bool waits() const { return lifetime != message::Lifetime::plain || owner != Owner::comm; }
};

// Calls with a datatype for each block of host memory, too.
constexpr bool may_be_packed_on_host(Function function) {
  return function == Function::MPI_Alltoallw || function == Function::MPI_Ialltoallw ||
         function == Function::MPI_Alltoallw_init || function == Function::MPI_Neighbor_alltoallw ||
         function == Function::MPI_Ineighbor_alltoallw || function == Function::MPI_Neighbor_alltoallw_init;
}

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept;

// Of calls whose description needs no group.
int run_alone(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) noexcept;

// Unpacks the calls, which the library has completed. The code for the program: the owner's error handler is told.
int finish(const std::vector<message::MessagePtr>& calls, Owner owner, Handle owned_by) noexcept;

// Gives the error, or an MPI error code, to the owner's error handler, and returns its code.
int tell(int code, Owner owner, Handle owned_by) noexcept;
int tell(const Error& error, Owner owner, Handle owned_by) noexcept;

}  // namespace tempi::collective
