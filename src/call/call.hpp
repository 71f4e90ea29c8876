// A point-to-point call, as the entries of interpose/ describe it. Only this code turns such a call into a message.
//
// Glossary
//   envelope   one buffer of a call, with the rank at its other end; a call has an outgoing envelope, an incoming one,
//              or both
//   untouched  a function object that calls the library's function with the name of the call and
//              the arguments of the program
//   given      a buffer as the library gets it: the program's buffer, or the packed buffer of an
//              envelope that TEMPI handles
//   over       a function object that calls the library with given buffers. It calls the function with the name of the
//              call or, for a nonblocking send, the function that makes its persistent request
//
// Invariants
//   If TEMPI does not handle a buffer, the library gets it unchanged, also if TEMPI handles the other buffer of the
//   call. If TEMPI handles neither buffer, it calls the library's function untouched, once, and keeps no data of the
//   call.
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "call/call_forms.hpp"
#include "request/finish.hpp"
#include "request/noted.hpp"

namespace tempi::message {

struct Call {
  const Real& real;  // the functions to which the program's call goes: MPI_ or PMPI_
  Lifetime lifetime;
  const Envelope* out;         // null: nothing is sent
  const Envelope* in;          // null: nothing is received
  void* result;                // the program's status (blocking calls) or the address of its request
  bool is_buffered = false;    // the bytes are copied when it starts: MPI_Ibsend, MPI_Bsend_init
  bool is_one_buffer = false;  // both envelopes are the same buffer: MPI_Sendrecv_replace, MPI_Isendrecv_replace
  bool is_waited_for = false;  // it is a nonblocking part of a blocking call, which waits for it

  const Envelope& envelope() const { return out != nullptr ? *out : *in; }  // of a call that has one
  bool has_one_envelope() const { return out == nullptr || in == nullptr; }
  Handle comm() const { return envelope().buffer.comm; }
  bool blocks() const { return lifetime == Lifetime::call; }
  // Pending sends must start first: the call may block, or its message must not overtake their messages.
  bool comes_after_pending() const { return blocks() || (out != nullptr && lifetime != Lifetime::programs); }
  // True if the library will accept the address for its result.
  bool is_sound() const {
    if (!blocks()) return result != nullptr;
    return in == nullptr || is_status(static_cast<const MPI_Status*>(result));
  }
};

// The two forms of the library's call.
using Untouched = FunctionRef<int()>;
using Over = FunctionRef<int(const Given& out, const Given& in, void* result)>;

struct Endpoints {
  FoundEndpoint out{}, in{};
  bool any() const { return out.endpoint || in.endpoint; }
  std::optional<int> refusal() const { return out.refusal ? out.refusal : in.refusal; }
};

// Runs the call after its endpoints have been found. The endpoints are moved into packed buffers.
int run_found(const Call& call, Endpoints&& endpoints, Untouched untouched, Over over);

// Runs an MPI_Isendrecv if TEMPI handles at least one of its buffers. It makes two messages. The program holds the
// request of the receive.
int isendrecv(const Call& call, Endpoints&& endpoints);

// The send part of an MPI_Isendrecv, by MPI_Isend or by a request of TEMPI. `sent` gets the request.
int send_outgoing(const Call& call, FoundEndpoint&& found, Handle* sent);

// A blocking call whose message may be direct is run as a nonblocking call that TEMPI waits for.
bool is_run_by_requests(const Call& call, const Endpoints& endpoints);
int run_by_requests(const Call& call, Endpoints&& endpoints);

// Makes the message of a call with one envelope. `over` makes its request. No message: the library made no request.
struct Made {
  MessagePtr message;
  int code;
};
Made make_message(const Call& call, FoundEndpoint&& found, Over over);

// Runs a call for which the fast check is false.
int run_closely(const Call& call, Untouched untouched, Over over) noexcept;

// The fast check: true for calls of one envelope that the library handles.
inline bool belongs_to_library(const Call& call) noexcept {
  if (!call.is_sound()) return true;
  return call.has_one_envelope() && belongs_to_library(call.envelope().buffer, call.envelope().peer);
}

template <class Fn>
int pass_on(const Call& call, const Fn& untouched) {
  if (call.blocks()) flush_sends();
  else if (call.comes_after_pending()) go_before(call.comm(), call.envelope().peer);
  const int code = untouched();
  return call.blocks() ? tended(code) : code;
}

// Passes on an undecided receive in host memory. The call that completes the receive informs
// `undecided` of the message that the receive has matched.
int pass_on_undecided(const Call& call, UndecidedPtr undecided, Untouched untouched, Over over);

// The library handles the call, and the transports are informed of it.
template <class FnUntouched, class FnOver>
int pass_on_noted(const Call& call, const FnUntouched& untouched, const FnOver& over) {
  const bool is_persistent = call.lifetime == Lifetime::programs;
  NotedByAll noted = note(call.out, call.in, is_persistent);
  if (noted.undecided) return pass_on_undecided(call, std::move(noted.undecided), untouched, over);
  const int code = pass_on(call, untouched);
  if (code != MPI_SUCCESS) lose_order(call.comm());
  else if (!call.blocks()) note_request(call.out, call.in, noted, is_persistent, call.result);
  return code;
}

// The entry of every point-to-point call.
template <class FnUntouched, class FnOver>
int run(const Call& call, const FnUntouched& untouched, const FnOver& over) noexcept {
  return belongs_to_library(call) ? pass_on_noted(call, untouched, over) : run_closely(call, untouched, over);
}

// Calls the function (buffer, count, datatype, rest...) in its large form if the form exists, else in its small form.
template <class Small, class Large, class... Rest>
int call_given(Small small, Large large, Handle comm, const Given& given, Rest... rest) {
  return call_form(
      large, comm, {given.count}, [&] { return large(given.writable(), given.count, given.type, rest...); },
      [&] { return small(given.writable(), static_cast<int>(given.count), given.type, rest...); });
}

inline Given as_given(const Buffer& buffer) { return {buffer.address, buffer.count, buffer.datatype}; }

}  // namespace tempi::message
