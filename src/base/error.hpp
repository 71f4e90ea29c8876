// Errors are exceptions inside the library. The extern "C" entries turn them into MPI error classes.
#pragma once

#include <stdexcept>
#include <string>

namespace tempi {

// Kinds of errors, as far as an MPI program can tell them apart.
enum class ErrorKind {
  no_memory,     // an allocation failed; another way of doing the work may succeed
  device,        // the GPU driver reported an error
  stream,        // a stream of the program cannot be used for this call
  mapped,        // memory cannot be mapped: freed memory is still mapped at its place
  unsupported,   // a datatype or a library feature that we do not handle
  type,          // the call does not accept the datatype
  operation,     // the call does not accept the operation
  rank,          // the window has no such process
  truncation,    // the buffer at the other end is too short
  range,         // an access beyond a window
  epoch,         // an access without the call that begins its epoch
  lost,          // another process has ended
  verification,  // TEMPI_VERIFY found a difference
  internal,      // an invariant of TEMPI does not hold
  unexpected,    // another exception: of the system, of the C++ library
  count
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// The exception that is being handled, as an Error. The kind of std::bad_alloc is no_memory. The kind of any other
// exception that is not an Error is unexpected. Used by the handlers catch (...) at the edges and before fallbacks.
Error caught_error() noexcept;

}  // namespace tempi
