// The processes at the other ends of channels. A kernel waits for them without the CPU. A thread checks whether they
// are alive, and ends the wait of the kernel if a process has died. It also checks the GPUs of this process: after a
// kernel has failed, CUDA runs no kernel of a channel, and the thread tells the other processes.
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "pack/exchange_params.hpp"

namespace tempi::message {

// From now on `loss` becomes Loss::peer_has_ended when the process of this rank of MPI_COMM_WORLD has ended, and
// Loss::peer_has_failed when a GPU of the process has failed. The rank may be that of this process. The word lasts
// until this process ends. `context`: of this end. False: the thread could not be created.
bool watch_peer(int rank, std::uint32_t* loss, device::Device& device, device::Context context) noexcept;

// Call it before this process leaves MPI. Tells the other processes if a GPU of this process has
// failed.
void tell_of_failures() noexcept;
// A GPU of this process has failed. This process gets no more channels.
void note_failed_gpu() noexcept;
bool has_failed_gpu() noexcept;
// Of the process of another rank, whose shared segment is known.
pack::Loss loss_of(int rank) noexcept;

}  // namespace tempi::message
