// Messages that are cached between calls, because programs repeat their calls. An MPI_Isend or MPI_Irecv of GPU memory
// reuses the complete message of an earlier call with the same arguments, with its memory and, for a send, the
// persistent request of the library. (26 MPI_Isend and MPI_Irecv of small messages on an H200: 42 µs, 60 µs without the
// cache.)
//
// Glossary
//   recurring      a call with the arguments of an earlier call
//   cached         an inactive message whose request the program does not hold; it waits for a recurring call
//   request cache  the cached messages of one communicator
//
// Invariants
//   A message is cached with its communicator. It ends when the program frees the communicator, because its request
//   would keep the communicator alive.
//   A call takes a message over if it has the same arguments, its buffer is in the same allocation, and its datatype
//   has the same layout and extent. The message keeps the layout alive.
//   - Only messages with the memory that their strategy requires are cached.
//   - A cached message keeps its memory: no other message uses it.
//   - Messages with much memory together hold at most a quarter of the pool's limit. Each of these messages has a share
//     of this budget.
//   - All cached messages end, at the next attempt to cache a message, in two cases: an allocation of staging memory
//     has failed, or 256 messages have found no share while no message with a share was reused.
#pragma once

#include "request/message.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::message {

// The cached message of an earlier call with the same envelope, and with the same layer (MPI_ or PMPI_). Null: there is
// none.
MessagePtr take_cached(const Real& real, const Envelope& envelope);

// Decides whether the new message of a call with this buffer will be cached when it is complete.
void choose_request_cache(const Buffer& buffer, Message& message);

// Caches a message whose request is complete. True: it is cached, and the pointer null. False: it is to end.
bool cache_message(MessagePtr& message) noexcept;

// Ends all cached messages: MPI or a session is about to shut down, or memory is short.
void end_cached() noexcept;

}  // namespace tempi::message
