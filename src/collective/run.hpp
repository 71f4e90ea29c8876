// A call that carries data between the processes of a communicator, as the entries of interpose/ describe it. run() is
// the only place that carries out such calls.
//
// Glossary
//   describe  a function that says what the library does with the arguments on this process (ends.hpp)
//   library   the library's function with the name of the call, applied to given arguments
//
// Invariants
//   The library's function is called once. Its arguments are those of the program, except for buffers that are staged,
//   with their datatypes and displacements. Each buffer is staged or not, independent of the others. In a buffer that
//   is not staged, a block that TEMPI has already copied has an empty datatype.
#pragma once

#include "base/counters.hpp"
#include "base/function_ref.hpp"
#include "collective/ends.hpp"
#include "request/message.hpp"

namespace tempi::collective {

using Describe = FunctionRef<void(const Group& group, Ends& ends)>;
using DescribeAlone = FunctionRef<void(Ends& ends)>;
using Library = FunctionRef<int(const GivenArgument& out, const GivenArgument& in, const GivenArgument& compared)>;
// Stores a message that a later call of the program completes. `given` is the buffer, if the call has only one.
using Keep = FunctionRef<void(message::MessagePtr call, const GivenArgument& given)>;

// The object whose error handler is called for errors of TEMPI.
enum class Owner : std::uint8_t { comm, file, window };

struct Call {
  const Real& real;  // the functions to which the program's call goes: MPI_ or PMPI_
  Function function;
  Handle comm;                 // MPI_COMM_NULL: the call is about a file or a window
  message::Lifetime lifetime;  // call (blocking), plain (nonblocking) or programs (persistent)
  void* request = nullptr;     // address of the program's request
  const Keep* keep = nullptr;  // for nonblocking calls that another call completes, or may complete
  Owner owner = Owner::comm;
  Handle owned_by = comm;

  bool blocks() const { return lifetime == message::Lifetime::call; }
  // True if the call may wait for other processes. The creation of a persistent call, and access to a file or a window,
  // may also wait.
  bool waits() const { return lifetime != message::Lifetime::plain || owner != Owner::comm; }
};

// True for calls with a datatype for each block. TEMPI may pack their blocks also in host memory.
constexpr bool may_be_packed_on_host(Function function) {
  return function == Function::MPI_Alltoallw || function == Function::MPI_Ialltoallw ||
         function == Function::MPI_Alltoallw_init || function == Function::MPI_Neighbor_alltoallw ||
         function == Function::MPI_Ineighbor_alltoallw || function == Function::MPI_Neighbor_alltoallw_init;
}

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept;

// The same for calls whose description needs no group.
int run_alone(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) noexcept;

// Unpacks the buffers of calls that the library has completed. Returns the code for the program, after it has called
// the owner's error handler for an error.
int finish(const std::vector<message::MessagePtr>& calls, Owner owner, Handle owned_by) noexcept;

// Passes the error, or an MPI error code, to the owner's error handler, and returns its code.
int tell(int code, Owner owner, Handle owned_by) noexcept;
int tell(const Error& error, Owner owner, Handle owned_by) noexcept;

}  // namespace tempi::collective
