// Which calls of a thread come from a tool between us and the MPI library: it passes calls on by their profiling names,
// which are ours, too.
#pragma once

namespace tempi {

// While it lives, this thread is in an entry: PMPI_x that is called now comes from the tool, if there is one. MPI_x
// comes from the program, whose error handlers and attribute callbacks may call MPI; where there is a tool, those of
// Fortran, whose calls come as PMPI_x, are taken for it.
class Inside {
 public:
  Inside() : outer_(is_inside_) { is_inside_ = true; }
  ~Inside() { is_inside_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is_in_entry() { return is_inside_; }

 private:
  // No call of __tls_get_addr on the hot path.
  [[gnu::tls_model("initial-exec")]] inline static constinit thread_local bool is_inside_ = false;

  const bool outer_;
};

}  // namespace tempi
