// The exchanges of one wait, in the order in which they are carried out (stream/enqueue.hpp).
#pragma once

#include <vector>

#include "stream/on_stream.hpp"

namespace tempi::message {

// One exchange, behind the kernels of a round. It may have no requests.
struct Round {
  StreamRounds* of = nullptr;  // null: requests without rounds, and operations of one round
  std::size_t number = 0;
  AllStarted parts{};
};

// Takes the requests out of `all`, which still owns the operations. The operations of several rounds are carried out
// last, one after the other: a process that waits for each of them alone makes the same exchanges in the same order.
std::vector<Round> rounds_of(AllStarted& all);

// The entered stream `handle` waits for the last exchange of note_round(). Otherwise a large exchange in this stream,
// which the other processes carry out later, could occupy the GPU between the rounds of an operation in another stream.
void come_after_rounds(const device::Scope& stream, device::StreamHandle handle);
void note_round(const LastUse& exchange);  // of an operation of several rounds

}  // namespace tempi::message
