// The MPI entries that a thread is in.
#pragma once

#include <exception>

#include "base/mutex.hpp"

namespace tempi {

// While this object exists, its thread is in an entry.
//
// A tool may be between TEMPI and the MPI library. It passes calls on by their profiling names, which TEMPI also
// defines. Therefore, a call of PMPI_x inside an entry comes from the tool, if there is one. A call of MPI_x comes from
// an error handler or an attribute callback of the program. If there is a tool, calls of Fortran handlers and
// callbacks, which arrive as PMPI_x, are treated as calls of the tool.
//
// An exception that an error handler of the program throws ends the library's function (mpi/function.hpp). TEMPI keeps
// it until the entry ends, and handles the call as after an error of that function, because the rest of TEMPI handles
// no exceptions of the program.
class Inside {
 public:
  Inside() : outer_(innermost_ > this ? innermost_ : nullptr) { innermost_ = this; }
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is_in_entry() { return innermost_ != nullptr; }

  // Call it at the end of an entry. Throws the exception that is kept for the entry. If there is
  // none, returns `code`.
  int leave(int code) const {
    if (thrown_ != nullptr) [[unlikely]]
      throw_own();
    return code;
  }

  // Call it in a handler catch (...) around a function of the library. Keeps the exception for the
  // innermost entry, if it is the first exception there. Throws the exception again in three cases:
  // the thread is in no entry, the thread is being ended (forced unwinding), or the exception comes
  // from another C++ library.
  static void keep_thrown();

  // For threads of our own, which have nobody to throw to. True: there was one.
  bool drop_thrown() const noexcept;

 private:
  // A kept exception. Those of a thread form a list; the one of the innermost entry is the first.
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
  // The entry around this one, or null. Null also if the innermost entry has a lower address than this
  // object: then a handler has left that entry by longjmp.
  const Inside* const outer_;
};

}  // namespace tempi
