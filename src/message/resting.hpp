// Messages that rest between calls. Programs repeat their calls: an MPI_Isend or MPI_Irecv of GPU memory with the
// arguments of an earlier one, which is complete, takes its message over, with its memory and, of a send, the library's
// persistent request. (That halves the time of a call, and of its completion.)
//
// Glossary
//   resting  inactive between two calls; the program has no request of it
//   recurs   a call recurs if its arguments are those of an earlier one
//
// Invariants
//   A message rests with its communicator, and ends when the program frees that: its request would keep it alive.
//   It is taken over by a call with the same arguments, if the buffer lies in the same allocation, of a datatype of the
//   same layout and extent. It keeps the layout alive.
//   Only small messages rest: their memory is nobody else's meanwhile.
#pragma once

#include "message/call.hpp"

namespace tempi::message {

// A message of this call, active before: null if there is none.
MessagePtr take_resting(const Call& call);

// The new message of this call will rest when it is complete, if it may.
void let_recur(const Call& call, Message& message);

// A message whose request is complete rests from now on. False: it ends.
bool rest(const MessagePtr& message) noexcept;

// All that rest end: MPI is about to shut down.
void end_resting() noexcept;

}  // namespace tempi::message
