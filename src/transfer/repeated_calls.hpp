// Messages that are cached between calls, because programs repeat their calls. An MPI_Isend or MPI_Irecv of GPU memory
// takes over the complete message of an earlier call with the same arguments. It also takes over its memory and, for a
// send, the library's persistent request. (26 MPI_Isend and MPI_Irecv of small messages on an H200: 42 µs, 60 µs
// without the cache.)
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
//   - Messages with much memory together hold at most a quarter of the pool's limit. Each of these messages has a
//   share.
//   - All cached messages end at the next attempt to cache a message, if a request for staging memory has failed, or if
//   256 messages have found no share while no message with a share was reused.
#pragma once

#include "transfer/call.hpp"

namespace tempi::message {

// An inactive message of an earlier call with these arguments. Null: there is none.
MessagePtr take_cached(const Call& call);

// The new message of this call will be cached when it is complete, if it may.
void choose_request_cache(const Call& call, Message& message);

// Caches a message whose request is complete. True: it is cached, and the pointer null. False: it is to end.
bool cache_message(MessagePtr& message) noexcept;

// Ends all that are cached: MPI, or a session, is about to shut down, or memory is short.
void end_cached() noexcept;

}  // namespace tempi::message
