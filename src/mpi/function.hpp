// A function of the MPI library.
#pragma once

#include <cstddef>
#include <mpi.h>
#include <string_view>

#include "mpi/inside.hpp"

namespace tempi {

// The result of a library function in which an error handler of the program has thrown an
// exception. As after each error, TEMPI reads the memory that the function has written: for calls
// about several requests, the statuses have the error codes.
constexpr int code_if_thrown(std::string_view name) {
  for (const std::string_view one : {"MPI_Waitall", "MPI_Waitsome", "MPI_Testall", "MPI_Testsome"}) {
    if (name == one) return MPI_ERR_IN_STATUS;
  }
  return MPI_ERR_OTHER;
}

template <class Signature>
class LibraryFunction;

// A pointer to a function of the MPI library. Null if this library does not have the function.
template <class... Parameters>
class LibraryFunction<int(Parameters...)> {
 public:
  using Pointer = int (*)(Parameters...);

  constexpr LibraryFunction(std::nullptr_t = nullptr) {}
  constexpr explicit LibraryFunction(int if_thrown) : if_thrown_(if_thrown) {}

  // Exceptions of the program's error handlers are kept until the end of the entry (mpi/inside.hpp).
  int operator()(Parameters... arguments) const {
    try {
      return at_(arguments...);
    } catch (...) {
      Inside::keep_thrown();
    }
    return if_thrown_;
  }

  void set(void* address) { at_ = reinterpret_cast<Pointer>(address); }
  Pointer get() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }
  friend bool operator==(const LibraryFunction& one, const LibraryFunction& other) { return one.at_ == other.at_; }

 private:
  Pointer at_ = nullptr;
  int if_thrown_ = MPI_ERR_OTHER;
};

}  // namespace tempi
