// The streams of a thread, each with its kernels and graphs. At the end of the thread they go back to the pool of their
// context, for other threads: the destructors of threads and of the process call nothing of CUDA, whose contexts may
// have ended, and whose driver may have shut down.
#pragma once

#include <utility>
#include <vector>

#include "device/cuda/life.hpp"
#include "device/cuda/replay.hpp"

namespace tempi::device {

struct Queue {
  Life& life;
  Lane lane;
  CUstream stream = nullptr;
  std::vector<std::pair<const Kernel*, CUfunction>> functions = {};
  Replays replays = {};
  Told last = {};         // what was queued last tells its end
  Queue* next = nullptr;  // of its thread, or of the pool
};

// The queue of the calling thread in the current context, which lives. Throws Error (device).
Queue& own_queue(const CudaDriver& driver, Life& life, Lane lane);

CUfunction function(const CudaDriver& driver, Queue& queue, const Kernel& kernel);

// In a child after fork: the queues are its parent's.
void forget_queues() noexcept;

}  // namespace tempi::device
