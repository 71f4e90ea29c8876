// A call that carries data between the processes of a communicator, as the entries of interpose/ describe it. run() is
// the only place that carries out such calls.
//
// Glossary
//   describe  a function that says what the library does with the arguments on this process (ends.hpp)
//   library   the library's function with the name of the call, applied to given arguments
//
// Invariants
//   The library's function is called once. Its arguments are those of the program, except for the buffers, their
//   datatypes and their displacements. An argument that is not staged is passed on as the program gave it, whether or
//   not the other argument is staged. The exception is a block that TEMPI has already copied: its datatype is empty.
#pragma once

#include "base/counters.hpp"
#include "base/function_ref.hpp"
#include "collective/ends.hpp"
#include "request/message.hpp"

namespace tempi::collective {

using Describe = FunctionRef<void(const Group& group, Ends& ends)>;
using DescribeAlone = FunctionRef<void(Ends& ends)>;
using Library = FunctionRef<int(const GivenArgument& out, const GivenArgument& in, const GivenArgument& compared)>;
// Keeps a call that another call of the program completes. `given` is the buffer, if the call has only one.
using Keep = FunctionRef<void(message::MessagePtr call, const GivenArgument& given)>;

// The object whose error handler is called for errors of TEMPI.
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
  // True if the call may wait for other processes. The creation of a persistent call, and access to a file or a window,
  // may also wait.
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

// Unpacks the calls, which the library has completed. Returns the code for the program. The owner's error handler is
// called.
int finish(const std::vector<message::MessagePtr>& calls, Owner owner, Handle owned_by) noexcept;

// Passes the error, or an MPI error code, to the owner's error handler, and returns its code.
int tell(int code, Owner owner, Handle owned_by) noexcept;
int tell(const Error& error, Owner owner, Handle owned_by) noexcept;

}  // namespace tempi::collective
