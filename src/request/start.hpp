// Starts persistent requests, some of which are managed. `real` is the layer below the name that the program called.
// Addresses of requests are those of the program.
#pragma once

#include "mpi/real.hpp"

namespace tempi::message {

int start(const Real& real, void* request);
// By the thread that carries out exchanges in the order of a stream.
int start_for_stream(const Real& real, void* request);
int start_all(const Real& real, int count, void* requests);

}  // namespace tempi::message
