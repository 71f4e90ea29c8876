// A message under way: what a request of the program stands for.
//
// Glossary
//   managed    a request is managed when one of its sides is packed by us; all others are the library's alone
//   pending    a send is pending from the program's call until the library's request has been started
//   started    the library has the message
//   sibling    the send half of an Isendrecv, whose request stands for both halves
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "mpi/real.hpp"
#include "send/payload.hpp"

namespace tempi::send {

// The handle that the program holds is always a real request of the library: a receive's own, or a persistent send's
// that is started once the payload is packed.
struct Message;
using MessagePtr = std::shared_ptr<Message>;

struct Message {
  enum class Lifetime : std::uint8_t {
    plain,     // the library frees its request at completion
    ours,      // a persistent one that the program does not know to be one: we free it at completion
    programs,  // persistent because the program said so
  };

  Message(const Real& real, Handle its_comm, Lifetime its_lifetime = Lifetime::plain)
      : mpi(real), comm(its_comm), lifetime(its_lifetime) {}

  // All calls about the request take the layer by which it was made: a tool between us and the library sees pairs.
  const Real& mpi;
  Handle comm;  // whose error handler is told
  Lifetime lifetime;
  Handle request = request_null();
  std::optional<Payload> out{};                 // what is sent, or
  std::optional<Payload> in{};                  // what is received; neither for a half that is the library's
  MessagePtr sibling{};                         // not complete yet
  std::function<int(Handle*)> send_buffered{};  // by MPI_Ibsend: what each start of an MPI_Bsend_init does
  bool is_active = true;                        // false: the program's own, and not started by it or complete
  std::atomic<bool> is_started = true;          // false: pending
  bool is_cancelled = false;                    // before it was started
  bool receives_from_nobody = false;  // an Isendrecv with MPI_PROC_NULL as its source: the request is the send's
  bool is_unpacked = false;           // by MPI_Request_get_status, before the program waits, which was told
  MPI_Status told{};
  int start_code = 0;              // what MPI_Start said
  std::optional<Error> failure{};  // why it could not be packed
  pack::Queued queued{};           // the packing under way, if any

  // Not complete, whatever the library says.
  bool is_pending() const { return !is_started.load(std::memory_order_acquire) || sibling; }
  // Complete, while the library's request has never been started.
  bool ends_without_library() const {
    return is_active && !is_pending() && (send_buffered || is_cancelled || failure.has_value() || start_code != 0);
  }
};

}  // namespace tempi::send
