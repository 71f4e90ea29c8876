// A message in progress, represented by a request of the program.
//
// Glossary
//   managed    a request is managed when one of its sides is packed by us, its bytes go by other messages, or it is an
//              undecided receive (undecided.hpp); all others are the library's alone
//   part       a buffer of the message that is ours, with its payload (parts.hpp)
//   state      the place of the message between its call and its end (state.hpp)
//   active     the program waits for it: every state but "inactive" and "ended"
//   collective a message of a collective call: its parts are those of all peers, or it has none and a rest; no status
//              tells its bytes
//   rest       what else the request stands for: the send half of an Isendrecv, the messages of a collective call
//
// Invariants
//   The handle that the program holds is a real request of the library: a receive's own, or a persistent send's that is
//   started once the payload is packed, or never (state.hpp).
//   The engine keeps every message with such a handle, except while a call completes it: that call has taken it.
//   A message with a rest is not complete, whatever its own state.
#pragma once

#include <memory>
#include <optional>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "message/parts.hpp"
#include "message/state.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

struct Message;
class Lot;
struct Parked;

// The place in which a message was parked last. It is gone when the lot has been emptied since.
struct LastParked {
  Parked* there = nullptr;
  std::uint64_t n_emptied = 0;  // times the lot had been emptied; 0: nowhere yet
};

class Rest {
 public:
  virtual ~Rest() = default;
  // Always true with `waits`. The message's start_code tells of failures that no error handler was told of.
  virtual bool has_ended(Message& message, bool waits) noexcept = 0;
};

using MessagePtr = std::shared_ptr<Message>;

// Kept by the message of a collective call beside its payloads, for as long as the library may read it.
class Beside {
 public:
  virtual ~Beside() = default;
  virtual void packed() noexcept {}   // the payloads that are sent are packed; the library is not called yet
  virtual void arrived() noexcept {}  // the library's call is complete; nothing is unpacked yet
  // Asked before the bytes of a complete call are unpacked. False: they are unpacked, or another thread does it.
  virtual bool begins_unpacking(Message& message) noexcept;
  virtual void unpacked() noexcept {}        // the bytes are in the program's buffer
  virtual void await_unpacked() noexcept {}  // by whichever thread
  // Starts the inactive call `message`: the code for the program.
  virtual int start(Message& message) noexcept;
  // Gives the code of a complete call to the error handler of its object, and returns it.
  virtual int tell(Handle comm, int code) noexcept;
};

enum class Lifetime : std::uint8_t {
  call,      // no request: as long as the call
  plain,     // the library frees its request at completion
  ours,      // persistent, unknown to the program: we free it at completion, unless the message is parked
  programs,  // persistent, made so by the program
};

struct Message {
  Message(const Real& real, Handle its_comm, Lifetime its_lifetime)
      : mpi(real), comm(its_comm), lifetime(its_lifetime) {}

  // All calls about the request use the layer that made it: a tool between us and the library sees pairs.
  const Real& mpi;
  Handle comm;  // whose error handler is told
  Lifetime lifetime;
  Handle request = request_null();
  Parts outs{}, ins{};                  // sent and received; neither for a half that is the library's
  bool is_buffered = false;             // MPI_Bsend_init: each start is an MPI_Ibsend
  bool is_blocking = false;             // the program's call ends with the message
  bool receives_from_nobody = false;    // an Isendrecv with MPI_PROC_NULL as its source: the request is the send's
  std::optional<Function> recurs_as{};  // whose next call may take it over
  std::shared_ptr<Lot> lot{};           // where it is parked when it is complete; null: it ends (parked.hpp)
  LastParked last_parked{};             // in that lot
  std::shared_ptr<Beside> beside{};     // of a collective call
  StateMachine state{};
  std::shared_ptr<Rest> rest{};    // not complete yet
  UndecidedPtr undecided{};        // of a receive whose number is known when it is complete
  MPI_Status told{};               // by MPI_Request_get_status, of a message that it has seen
  int start_code = MPI_SUCCESS;    // result of the library's MPI_Start, or of the rest
  std::optional<Error> failure{};  // error of packing or unpacking

  bool is(MessageState wanted) const { return state.now() == wanted; }
  bool completes(Completion wanted) const { return completion_of(state.now()) == wanted; }
  bool is_collective() const { return beside != nullptr; }
  bool is_active() const { return !completes(Completion::none); }
  // Not complete, whatever the library says.
  bool is_pending() const { return rest || completes(Completion::later); }
  // Complete, although the library's request was never started.
  bool ends_without_library() const { return !rest && completes(Completion::done); }
  // The state of the library's request does not matter.
  bool is_inactive_to_library() const { return !is_active() || ends_without_library() || is(MessageState::announced); }
};

}  // namespace tempi::message
