// Messages that are cached between calls. Programs repeat their calls: an MPI_Isend or MPI_Irecv of GPU memory with the
// arguments of an earlier one, which is complete, takes its message over, with its memory and, of a send, the library's
// persistent request. (Of 26 MPI_Isend and MPI_Irecv of small messages on an H200: 42 µs, 60 without.)
//
// Glossary
//   recurring  a call with the arguments of an earlier one
//   cached     a message that is inactive, and whose request the program does not have; it waits for a recurring call
//   request cache   the cached messages of one communicator
//
// Invariants
//   A message is cached with its communicator, and ends when the program frees that: its request would keep it alive.
//   It is taken over by a call with the same arguments, if the buffer lies in the same allocation, of a datatype of the
//   same layout and extent. It keeps the layout alive.
//   - Only messages with the memory that their strategy wants are cached.
//   - A cached message keeps its memory: nobody else uses it.
//   - Messages that hold much memory hold together at most a quarter of what the pool may hold: each has a share.
//   - All cached messages end when the next message could be cached, after a request for staging memory has failed, or
//     after 256 messages have found no share while no message with a share was reused.
#pragma once

#include "request/message.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::message {

// An inactive message of an earlier call with this one envelope, by the same layer. Null: there is none.
MessagePtr take_cached(const Real& real, const Envelope& envelope);

// The new message of a call with this buffer will be cached when it is complete, if it may.
void choose_request_cache(const Buffer& buffer, Message& message);

// Caches a message whose request is complete. True: it is cached, and the pointer null. False: it is to end.
bool cache_message(MessagePtr& message) noexcept;

// Ends all that are cached: MPI, or a session, is about to shut down, or memory is short.
void end_cached() noexcept;

}  // namespace tempi::message
