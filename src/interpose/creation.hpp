// The calls that make communicators. All members of a parent make such a call, or only the members
// of the new communicator. The calls start pending sends. TEMPI counts them, because it computes
// the ids of communicators from the counts (peer/ids.hpp).
#pragma once

#include "call/call_forms.hpp"
#include "peer/ids.hpp"

namespace tempi::interpose {

inline constexpr Handle kUntouched = ~Handle{0};  // no handle of any ABI

// A handle that a call returns to the program. If the program's error handler returns, MPICH
// reports success for a failed call. The failure is detected by the handle, which the call has not
// set.
class HandedBack {
 public:
  explicit HandedBack(void* program) : program_(program) {}
  ~HandedBack() {
    if (is_set()) store_handle(program_, get());
  }
  HandedBack(const HandedBack&) = delete;
  HandedBack& operator=(const HandedBack&) = delete;

  // The address that the library gets; null if the program's is.
  void* address() { return program_ != nullptr ? &handle_ : nullptr; }
  bool is_set() const { return key_of(handle_) != key_of(kUntouched); }
  Handle get() const { return key_of(handle_); }

 private:
  void* program_;
  Handle handle_ = kUntouched;
};

inline constexpr auto kNever = [] { return false; };

inline constexpr auto kNothing = [](Handle) {};

// `may_be_left_out()`: this process may be in none of the children. `then(child)` runs after the call.
template <class LeftOut, class Call, class Then>
int counted(Handle parent, void* child, const LeftOut& may_be_left_out, const Call& call, const Then& then) noexcept {
  peer::Creation creation(parent);
  HandedBack made(child);
  const int code = call(made.address());
  const bool is_null = made.is_set() && made.get() == key_of(comm_null());
  if (code != MPI_SUCCESS || !made.is_set() || (is_null && !may_be_left_out())) creation.failed();
  else if (!is_null) creation.made(made.get());
  if (code == MPI_SUCCESS && made.is_set() && !is_null) then(made.get());
  return code;
}

template <class LeftOut, class Call, class Then = decltype(kNothing)>
int create(Handle parent, void* child, const LeftOut& may_be_left_out, const Call& call,
           const Then& then = kNothing) noexcept {
  message::flush_sends();
  return message::tended(peer::counts_creations() ? counted(parent, child, may_be_left_out, call, then) : call(child));
}

// A communicator that only its members make: `made(child)` gives it an id.
template <class Call, class Made>
int create_by_members(void* child, const Call& call, const Made& made) noexcept {
  message::flush_sends();
  if (!peer::counts_creations()) return message::tended(call(child));
  HandedBack handed(child);
  const int code = call(handed.address());
  const bool is_null = handed.is_set() && handed.get() == key_of(comm_null());
  if (code != MPI_SUCCESS || !handed.is_set()) peer::group_creation_failed();
  else if (!is_null) made(handed.get());
  return message::tended(code);
}

}  // namespace tempi::interpose
