// The library's nonblocking reduction, which replaces the kernels of a pending reduction if the members find that
// kernels cannot do it. It uses the program's buffers, on a communicator of TEMPI.
#pragma once

#include <vector>

#include "collective/run.hpp"

namespace tempi::collective {

class LibraryReduction {
 public:
  // Keeps the arguments, with copies of the arrays of counts. `ends` must be described.
  LibraryReduction(const Call& call, const Ends& ends);

  const void* sent() const { return sent_; }
  const void* received() const { return received_; }
  Function function() const { return function_; }

  // Returns an MPI error code. No error handler of the program has been called for it.
  int begin(Handle comm) noexcept;
  bool has_ended(int& code) noexcept;

 private:
  template <class Describe, class Small, class Large, class... Rest>
  int call(Handle comm, const Describe& describe, const Small& small, const Large& large, Rest... rest);

  const Real& real_;
  Function function_;
  const void* sent_;
  const void* received_;
  Count count_;
  std::vector<int> small_counts_{};
  std::vector<Count> large_counts_{};
  Handle type_, operation_;
  int root_;
  Handle request_ = request_null();
};

}  // namespace tempi::collective
