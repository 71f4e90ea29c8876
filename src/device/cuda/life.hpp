// One life of a CUDA context, from its first use by TEMPI to its end. The program ends a context by cuCtxDestroy,
// cudaDeviceReset, or the last release of a primary context.
//
// The driver reuses the handles of contexts, streams, events and modules, and does not check them. A call with the
// handle of an ended context crashes or never returns (seen with cuStreamDestroy on an H200). Therefore, each handle of
// TEMPI belongs to a life. After the end of the life, TEMPI does not pass the handle to the driver: it forgets the
// handle, and does not destroy it.
//
// A witness tells whether the context still exists. It is a small allocation of TEMPI, whose id the driver never
// reuses. The query takes 34 ns, and is safe for any address. (cuCtxGetId needs a handle, and driver 12.)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace tempi::device {

struct Queue;

// Never freed: marks and staging memory may outlive the context.
struct Life {
  Life(CUcontext its_handle, Life* the_older) : handle(its_handle), older(the_older) {}

  const CUcontext handle;
  Life* const older;  // the next entry in the list of all lives
  CUdeviceptr witness = 0;
  unsigned long long witness_id = 0;  // 0: there was no memory for it
  std::atomic<bool> has_ended{false};

  Mutex<Lock::context> mutex{};  // guards the members below
  CUmodule module = nullptr;
  std::vector<std::pair<const Kernel*, CUfunction>> functions{};
  std::vector<CUevent> unused_events{};
  std::size_t n_reserved_events = 0;  // of the unused ones: for calls in place of a stream
  CUevent probe = nullptr;            // never recorded: a query of it succeeds, unless the context has failed
  Queue* unused_queues = nullptr;
  std::array<Queue*, kLanes.size()> in_place{};  // for calls in place of a stream; one thread makes them
};

// A kernel of the context has failed: the driver answers each call with an error. The context has not ended.
bool has_failed(const CudaDriver& driver, Life& life) noexcept;

// The allocation at this address has this id. Any address is safe.
bool has_id(const CudaDriver& driver, CUdeviceptr address, unsigned long long id) noexcept;

// True if the context exists. False also after the driver has shut down. A life without a witness counts as existing.
bool lives(const CudaDriver& driver, Life& life) noexcept;

// Throws Error (device) if the context has ended.
void check_life(const CudaDriver& driver, Life& life);

// The last known life of a context, by a walk over a short list. Null: there is none.
Life* known_life(CUcontext handle) noexcept;

// The life of a context that exists: a new one where none is known, or the last one has ended or has no witness.
Life& life_of(const CudaDriver& driver, CUcontext handle) noexcept;

}  // namespace tempi::device
