// Which calls of a thread come from below: a tool between us and the MPI library, and the library itself, pass calls on
// by their profiling names, which are ours, too.
#pragma once

namespace tempi {

// While it lives, this thread is in a call of ours: PMPI_x that is called now comes from below. MPI_x comes from the
// program: its error handlers and reduction operations may call MPI.
class Inside {
 public:
  Inside() : outer_(is_inside_) { is_inside_ = true; }
  ~Inside() { is_inside_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is() { return is_inside_; }

 private:
  // No call of __tls_get_addr on the hot path.
  [[gnu::tls_model("initial-exec")]] inline static constinit thread_local bool is_inside_ = false;

  const bool outer_;
};

}  // namespace tempi
