// The streams of a thread, each with its kernels and graphs. When the thread ends, its streams return to the pool of
// their context, for other threads. The destructors at the end of a thread or of the process call no function of CUDA,
// because the contexts may have ended, and the driver may have shut down.
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
  Told last = {};         // the last work, if it reports its end by a flag
  Queue* next = nullptr;  // of its thread, or of the pool
};

// The queue of the calling thread in the current context, which lives; for calls in place of a stream, the one that
// prepare_queues() has made. Throws Error (device).
Queue& own_queue(const CudaDriver& driver, Life& life, Lane lane);

// Makes the queues of calls in place of a stream, in the current context. Throws Error (device).
void prepare_queues(const CudaDriver& driver, Life& life);

CUfunction function(const CudaDriver& driver, Queue& queue, const Kernel& kernel);

// In a child after fork: forgets the queues, because they belong to its parent.
void forget_queues() noexcept;

}  // namespace tempi::device
