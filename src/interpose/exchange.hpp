// The two halves of MPI_Sendrecv and its relatives.
#pragma once

#include "interpose/message_call.hpp"

namespace tempi::interpose {

// Who exchanges what with whom.
struct Exchange {
  Buffer out;
  int destination, sendtag;
  Buffer in;
  int source, recvtag;
};

// MPI_Isendrecv of which at least one half is ours: two messages, of which the program holds the receive's request.
int isendrecv(const Real& real, const Exchange& exchange, const FoundSide& out, const FoundSide& in, void* request);

// MPI_Isend once its side has been looked for.
int isend(const Real& real, const FoundSide& found, const Buffer& buffer, int destination, int tag, void* request);

}  // namespace tempi::interpose
