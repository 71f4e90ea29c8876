// The library makes progress only in its own calls. Code that waits for another process without a library call must
// call these functions, because that process may depend on messages of this one.
#pragma once

namespace tempi {

// Lets the library make progress. Returns an error code of the library. If MPI_COMM_WORLD is not
// valid, as in a program that has only sessions, it does nothing and returns MPI_SUCCESS.
int let_library_go_on() noexcept;

// While an object exists, no other thread lets the library go on by let_library_go_on(). Before the first object,
// expect() is called.
class LibraryHeld {
 public:
  static void expect() noexcept;
  LibraryHeld() noexcept;
  ~LibraryHeld();
  LibraryHeld(const LibraryHeld&) = delete;
  LibraryHeld& operator=(const LibraryHeld&) = delete;

 private:
  const bool may_overlap_;
};

// Before the library ends.
void end_library_progress() noexcept;

}  // namespace tempi
