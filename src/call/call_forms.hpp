// Code for all point-to-point calls. A call has two forms: with int counts and with large counts (_c). The large form
// is used if the program called it and the library has it.
#pragma once

#include <climits>

#include "mpi/errors.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::message {

inline Buffer outgoing(Function function, const void* buffer, Count count, Handle datatype, Handle comm) {
  return {function, pack::Direction::pack, buffer, count, datatype, comm};
}

inline Buffer incoming(Function function, void* buffer, Count count, Handle datatype, Handle comm) {
  return {function, pack::Direction::unpack, buffer, count, datatype, comm};
}

// A buffer passed to the library: the program's, or a packed buffer.
struct Given {
  const void* address;
  Count count;
  Handle type;

  void* writable() const { return const_cast<void*>(address); }
};

// Calls a function that this library may lack.
template <class Fn, class... Arguments>
int call_if_there(Fn fn, Arguments... arguments) {
  return fn != nullptr ? fn(arguments...) : kFunctionIsMissing;
}

inline bool fits_int(Count count) { return count >= INT_MIN && count <= INT_MAX; }

// Calls the large form if `large` is not null. Else calls the small form, if all `counts` fit an
// int. `large` is null if the library has no large form, or if the caller needs the small form.
template <class Large, class CallLarge, class CallSmall>
int call_form(Large large, Handle comm, std::initializer_list<Count> counts, const CallLarge& call_large,
              const CallSmall& call_small) {
  if (large != nullptr) return call_large();
  for (const Count count : counts) {
    if (!fits_int(count)) return raise(comm, MPI_ERR_COUNT);
  }
  return call_small();
}

// Turns errors of TEMPI into MPI errors.
template <class Fn>
int guarded(Handle comm, const Fn& fn) noexcept {
  try {
    return fn();
  } catch (...) {
    return raise(comm, caught_error());
  }
}

// The same for a call that may find that a message has arrived.
template <class Fn>
int guarded_and_tended(Handle comm, const Fn& fn) noexcept {
  return tended(guarded(comm, fn));
}

}  // namespace tempi::message
