// The program's request of a collective call that messages or kernels of TEMPI carry out. It is a message without
// transfers, which has only a continuation (request/message.hpp).
#pragma once

#include <memory>

#include "collective/own_comm.hpp"
#include "collective/run.hpp"
#include "collective/schedule.hpp"

namespace tempi::collective {

// Its request is a persistent request of this process to itself, which never starts. (A request to MPI_PROC_NULL is not
// suitable, because libraries give the same request to several calls.) `hook` starts the call that the message
// represents. Throws Refused.
message::MessagePtr continued_message(const Call& call, const Group& group,
                                      std::shared_ptr<message::CompletionHook> hook);

// Makes a hook that starts the messages of a schedule, on this communicator.
std::shared_ptr<message::CompletionHook> by_messages(std::shared_ptr<Schedule> schedule, std::shared_ptr<OwnComm> comm);

// The program gets the request.
void hand_out(const Call& call, const message::MessagePtr& message);

}  // namespace tempi::collective
