// The MPI entries that a thread is in.
#pragma once

#include <exception>

#include "base/mutex.hpp"

namespace tempi {

// While it lives, this thread is in an entry.
//
// PMPI_x that is called now comes from a tool between us and the MPI library, if there is one: it passes calls on by
// their profiling names, which are ours, too. MPI_x comes from the program, whose error handlers and attribute
// callbacks may call MPI; where there is a tool, those of Fortran, whose calls come as PMPI_x, are taken for it.
//
// An exception that an error handler of the program throws ends the library's function (mpi/function.hpp). It is kept
// until the entry ends as after an error of that function: our tables know of no exceptions.
class Inside {
 public:
  Inside() : outer_(innermost_ > this ? innermost_ : nullptr) { innermost_ = this; }
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is_in_entry() { return innermost_ != nullptr; }

  // The last act of an entry. Throws what is kept for it, else returns `code`.
  int leave(int code) const {
    if (thrown_ != nullptr) [[unlikely]]
      throw_own();
    return code;
  }

  // In a handler catch (...) around a function of the library: keeps the exception for the innermost entry, if it is
  // the first one there. Throws it again if nobody can keep it: outside of all entries; that of a thread that ends, or
  // of another C++ library.
  static void keep_thrown();

  // For threads of our own, which have nobody to throw to. True: there was one.
  bool drop_thrown() const noexcept;

 private:
  // Of the entries of a thread, innermost first.
  struct Thrown {
    std::exception_ptr what;
    const Inside* entry;
    Thrown* outer;
  };
  std::exception_ptr take_own() const noexcept;
  void throw_own() const;

  // No call of __tls_get_addr on the hot path.
  [[gnu::tls_model("initial-exec")]] inline static constinit thread_local const Inside* innermost_ = nullptr;
  [[gnu::tls_model("initial-exec")]] inline static constinit thread_local Thrown* thrown_ = nullptr;

  [[no_unique_address]] const LockOrder order_{};
  const Inside* const outer_;  // of those that a handler has left by longjmp, below this one on the stack, none
};

}  // namespace tempi
