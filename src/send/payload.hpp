// The packed bytes of one side of a message, in memory that the MPI library is given instead of the program's buffer.
// With the strategy "library" the program's own memory is it: contiguous bytes of a GPU, which a CUDA-aware library
// moves rightly as bytes, and not always as a derived datatype.
#pragma once

#include <optional>

#include "pack/batch.hpp"
#include "pack/engine.hpp"
#include "send/strategy.hpp"

namespace tempi::send {

// One side of a message as the program gave it.
struct Side {
  pack::Direction direction;  // pack: it is sent
  pack::PlanPtr plan;         // ours, too: the program may free the datatype while the message is under way
  pack::Repeat repeat;
  void* typed;
  pack::Route route;  // where `typed` is
  Strategy strategy;
  std::int64_t chunk_bytes = 0;  // of "staged"; 0: what the model says

  std::int64_t bytes() const { return repeat.count * plan->layout.size; }
};

class Payload {
 public:
  // Takes memory for the packed bytes: within the pool's limit where `limit` says so, else ordinary memory.
  // Throws Error (no_memory) when there is not even that. `device` may be null for host memory.
  Payload(Side side, device::Device* device, device::Limit limit);
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  const Side& side() const { return side_; }
  void* data() const { return data_; }
  std::int64_t bytes() const { return side_.bytes(); }

  // Packs or unpacks; complete on return. On the CPU when the GPU fails.
  void move();
  // Unpacks a message of `received` bytes, which may end anywhere.
  void unpack(std::int64_t received);

  // The program has written to its buffer since the payload was made: its synchronous copies are waited for.
  void look_again() const;

  // Packs or unpacks behind the caller's back: into a batch that runs in `context()`, or alone. If it may be queued.
  bool can_be_queued() const;
  bool can_join_a_batch() const { return side_.strategy != Strategy::staged; }
  device::Device& device() const { return *device_; }
  device::Context context() const { return side_.route.typed_on_gpu().context; }
  void join(pack::Batch& batch) const { batch.add(transfer()); }
  pack::Queued queue();

  // A receive must be posted with its last byte one further than it belongs, as the guard against messages that are too
  // long (device/host_pages.hpp), ...
  bool sets_last_byte_apart() const;
  // ... and the last byte of a whole message be brought back, before it is unpacked.
  void bring_last_byte_back();

 private:
  pack::Transfer transfer() const;
  bool is_programs() const { return side_.strategy == Strategy::library; }
  void take_memory(device::Limit limit);
  bool move_by_gpu_or_host();  // false: by the host, after a failure
  void move_by_gpu();
  void unpack_part(std::int64_t begin, std::int64_t bytes);

  Side side_;
  device::Device* device_;
  std::optional<device::Staging> staging_, on_device_;  // the latter only for the strategy "staged"
  void* data_ = nullptr;
};

}  // namespace tempi::send
