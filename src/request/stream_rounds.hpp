// A persistent collective operation in the order of a stream (stream/enqueue.hpp): rounds, one after the other. A round
// queues kernels, and then exchanges the data of persistent point-to-point requests.
//
// Example: MPI_Allreduce of large buffers. Round 0 exchanges slices of the inputs. Round 1 queues the kernel that
// reduces the slice of this process, and exchanges the reduced slices. If a slice is small, the kernel of the exchange
// of round 0 reduces it.
//
// Invariant
//   All members of the communicator have the same number of rounds, and matching requests in each of them.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "mpi/handle.hpp"
#include "pack/reduction.hpp"

namespace tempi::message {

class StreamRounds {
 public:
  virtual ~StreamRounds() = default;
  virtual std::size_t n_rounds() const = 0;
  // The context of its buffers.
  virtual device::Context context() const = 0;
  // TEMPI manages them. They exist as long as the object.
  virtual std::vector<Handle> requests(std::size_t round) const = 0;
  // The reduction that the kernel of the round's exchange may carry out behind its receives; null: none.
  virtual const pack::TypedReduction* reduction_in(std::size_t round) const = 0;
  // Queues the kernels before the exchange of a round. `stream` is entered, and is the program's stream `handle`.
  // `is_reduced`: the kernel of the exchange of the previous round has carried out its reduction.
  virtual void queue_kernels(std::size_t round, const device::Scope& stream, device::StreamHandle handle,
                             bool is_reduced) = 0;
};

}  // namespace tempi::message
