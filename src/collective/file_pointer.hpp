// The individual file pointer of a file belongs to one call at a time: a call in chunks advances it several times, and
// an access of another thread must not come in between. Below MPI_THREAD_MULTIPLE, this does nothing.
//
// Only accesses that wait for no other process hold the pointer. Therefore, no thread waits here for another
// process. An error handler that the library calls in an access may use the file.
#pragma once

#include "base/counters.hpp"
#include "base/mutex.hpp"
#include "mpi/handle.hpp"

namespace tempi::collective {

// True for accesses by the individual file pointer that wait for no other process.
constexpr bool uses_pointer(Function function) {
  return function == Function::MPI_File_read || function == Function::MPI_File_write ||
         function == Function::MPI_File_iread || function == Function::MPI_File_iwrite;
}

class PointerHold {
 public:
  // `uses`: the access uses the pointer; else the object does nothing.
  PointerHold(Handle file, bool uses);
  ~PointerHold();
  PointerHold(const PointerHold&) = delete;
  PointerHold& operator=(const PointerHold&) = delete;

 private:
  Mutex<Lock::file_pointers>* const mutex_;  // null: there is nothing to wait for
};

}  // namespace tempi::collective
