// The processes at the other ends of channels. A kernel waits for them without the CPU. A thread checks whether they
// are alive, and ends the wait of the kernel if a process has died.
#pragma once

#include <cstdint>

namespace tempi::message {

// From now on `loss` becomes Loss::peer_has_ended when the process of this rank of MPI_COMM_WORLD has ended. The word
// lasts until this process ends. False: there is no thread, and nobody looks.
bool watch_peer(int rank, std::uint32_t* loss) noexcept;

}  // namespace tempi::message
