// Exchanges that one kernel carries out. The kernel reports to the senders that its receive buffers are ready. It
// writes each message when the receiver of the message is ready, and waits until its own receive buffers are filled.
// The CPU takes no part, so the kernel can be queued in a stream of the program, and captured in a graph
// (stream/enqueue.hpp).
//
// Invariants
//   The kernel reports its receive buffers before it waits for anything, and no send waits for another send. Therefore,
//   the ends of one exchange may be listed in any order. A large exchange may fill the GPU while it waits. Therefore,
//   all processes must queue the exchanges of several streams in the same order.
//   The blocks of a kernel do not wait for each other.
//   The kernels of an end run one after the other (stream/enqueue.cpp).
//   The last block of a kernel carries out its reduction, after all sends have been written and all receives have
//   arrived. The reduction may write into the buffers of the sends. If an end is lost, its result is undefined.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "pack/box_move.hpp"
#include "pack/cache.hpp"
#include "pack/exchange_params.hpp"
#include "pack/reduction.hpp"

namespace tempi::pack {

// A send: from layout to layout.
struct ExchangedSend {
  const BoxMove* box_move;
  bool is_remote;  // to another process
  ExchangeEnd end;
};

struct ExchangedReceive {
  const BoxMove* unpacking;  // of bytes that arrive packed; null: they arrive in the receive buffer
  ExchangeEnd end;
};

// The launch for a set of ends, which keeps its tables on the GPU. Device memory is taken by the constructor only.
class PreparedExchange {
 public:
  // `reduction`: by the kernel, of received data (prepared_for_one_block()); null: none. `timeout`: of the waits of
  // timed ends; 0: none.
  PreparedExchange(const device::Scope& here, const std::vector<ExchangedSend>& sends,
                   const std::vector<ExchangedReceive>& receives, const TypedReduction* reduction,
                   std::chrono::nanoseconds timeout);

  // Queues the launch in a stream. Either all launches of an object are captured into graphs, or
  // none.
  void launch(const device::Scope& stream, bool is_captured);
  // True: a kernel that was queued outside of graphs has not ended. It may wait for another
  // process.
  bool is_running() const noexcept;
  // True: no kernel uses the tables or the buffers, and no graph has a kernel that will use them.
  bool has_ended() const noexcept { return in_graphs_.use_count() == 1 && !is_running(); }

 private:
  std::unique_ptr<DeviceCopy> boxes_{}, tiles_{}, send_of_{}, ends_{}, n_blocks_done_{}, n_ended_{}, deadline_{};
  device::Device& device_;
  const device::Context context_;
  std::vector<const BoxMove*> unpackings_{};
  const device::Kernel* kernel_ = nullptr;
  device::Grid grid_{};
  ReducingExchange params_{};  // kernels without a reduction take its first member
  std::uint64_t n_launched_ = 0;
  device::MarkPtr last_unpacking_{};                                 // behind the last launch outside of graphs
  std::shared_ptr<const void> in_graphs_ = std::make_shared<int>();  // held by each graph, too
};

}  // namespace tempi::pack
