// A call that carries data between the processes of a communicator, as the entries of interpose/ describe it, and the
// one place where it is carried out.
//
// Glossary
//   describe   says what the library does with the arguments on this process (ends.hpp)
//   library    the library's function of the call's name, over given arguments
//
// Invariants
//   The library's function is called once, with the arguments of the program in all but the buffers, their datatypes
//   and displacements. An argument that is not staged is passed on as the program gave it, whatever the other one is.
#pragma once

#include "base/counters.hpp"
#include "base/function_ref.hpp"
#include "collective/ends.hpp"
#include "message/message.hpp"

namespace tempi::collective {

struct Call {
  const Real& real;  // the layer below the name that the program called
  Function function;
  Handle comm;
  message::Lifetime lifetime;  // call, plain (nonblocking) or programs (persistent)
  void* request = nullptr;     // address of the program's

  bool blocks() const { return lifetime == message::Lifetime::call; }
  // Initialisation may wait for the other processes, too.
  bool waits() const { return lifetime != message::Lifetime::plain; }
};

using Describe = FunctionRef<void(const Group& group, Ends& ends)>;
using Library = FunctionRef<int(const Lent& out, const Lent& in)>;

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept;

// Of calls without a communicator; they wait for nobody.
using DescribeAlone = FunctionRef<void(Ends& ends)>;
int run_alone(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) noexcept;

}  // namespace tempi::collective
