// The packed bytes of one endpoint of a message, in memory that the library gets instead of the program's buffer. If
// the strategy does not pack, this memory is the program's own: contiguous bytes in GPU memory. A CUDA-aware library
// always moves them correctly as bytes, but not always as a derived datatype.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "device/stream_order.hpp"
#include "mpi_config.h"
#include "pack/batch.hpp"
#include "pack/engine.hpp"
#include "transfer/strategy.hpp"

namespace tempi::message {

// One endpoint of a message, in the program's terms.
struct Endpoint {
  pack::Direction direction;   // pack: it is sent
  pack::PreparedPtr prepared;  // a reference, because the program may free the datatype before the message is complete
  std::int64_t count;
  pack::End end;  // the program's buffer
  Strategy strategy{};
  std::int64_t chunk_bytes = 0;  // chunk size of the strategy "staged"; 0: the model chooses it
  bool is_bare = false;          // the message is direct or empty: there is no memory for packed bytes
  bool may_be_direct = false;    // a receive may be published, a send may claim one; if this fails: `strategy`
  device::Earlier earlier{};     // work of the program; kernels on the buffer start after it

  std::int64_t bytes() const { return count * end.layout->size; }
};

// The work in the program's streams after which a call of this thread may access a buffer. It is empty if there is
// none, or if this function has waited for it, because the CPU or the library will use the buffer. Throws Error
// (stream).
device::Earlier earlier_work(const pack::Place& place, Strategy strategy, device::Device& device);

// A range of memory that several packed buffers share. The strategy of their endpoints has determined the memory.
struct SharedRange {
  std::shared_ptr<device::Staging> memory;
  device::Location location;
  std::int64_t offset;
};

inline constexpr device::Overrun kLibrarysOverrun =
    TEMPI_MPI_ABI_MPICH ? device::Overrun::impossible : device::Overrun::possible;

class PackedBuffer {
 public:
  // Takes the memory that the strategy requires for the packed bytes, within the pool's limit if `limit` is pool. If
  // there is none, takes ordinary memory. Throws Error (no_memory) if there is no ordinary memory either. `device` may
  // be null for host memory.
  PackedBuffer(Endpoint endpoint, device::Device* device, device::Limit limit);
  PackedBuffer(Endpoint endpoint, device::Device* device, SharedRange shared_range);
  PackedBuffer(const PackedBuffer&) = delete;
  PackedBuffer& operator=(const PackedBuffer&) = delete;

  void* data() const { return box_move_.dense().address; }
  std::int64_t bytes() const { return box_move_.bytes(); }
  const pack::BoxMove& box_move() const { return box_move_; }
  const pack::PreparedPtr& prepared() const { return prepared_; }
  Strategy strategy() const { return strategy_; }
  bool may_be_direct() const { return may_be_direct_; }
  // True if it has the memory that the strategy requires. False: it uses other memory, or a slower guard against
  // overruns.
  bool has_wanted_memory() const;
  // The size of staging memory that no other packed buffer shares.
  std::int64_t held_bytes() const {
    return (staging_ ? staging_->held_bytes() : 0) + (on_device_ ? on_device_->held_bytes() : 0);
  }
  // True if there are no packed bytes to pack into or to unpack.
  bool is_empty() const { return is_bare_ && !own_dense_; }
  // Call it before a GPU moves the packed bytes. Large messages that may be direct get their pinned memory, and their
  // device memory for staging, only here. False: the packed bytes are in ordinary memory.
  bool make_ready() noexcept;

  // Packs or unpacks; complete on return. If the GPU fails, the CPU does it.
  void move();
  // Unpacks a message of `received` bytes, which may be shorter than the buffer and end within an element.
  void unpack(std::int64_t received);

  // Call it before the packed buffer is used again. Waits for synchronous copies of the program into its buffer. True:
  // the program has freed the buffer and allocated memory at the same address, or may have done so. `seen`: the
  // allocation that the same MPI call has checked last. Throws Error (device) if the packed bytes were in device memory
  // of a context that has ended.
  bool look_again(device::Location& seen);

  // A call of this thread uses the buffer again: sets the earlier work to earlier_work() of this call. Throws Error
  // (stream).
  void come_after_streams();
  // Work that this thread queues in the context from now on starts after the earlier work.
  void hold_back() const;
  void await_earlier() const { earlier_.wait(); }

  // The packed bytes have arrived in other memory (a bounce buffer). Until put_back(), they are unpacked from there.
  void take_from(const pack::End& elsewhere) { own_dense_ = std::exchange(box_move_.dense(), elsewhere); }
  bool is_elsewhere() const { return own_dense_.has_value(); }
  void put_back() {
    if (own_dense_) box_move_.dense() = *std::exchange(own_dense_, std::nullopt);
  }

  // Packing or unpacking as queued work, if can_be_queued(): join() a batch that runs in `context()`, or queue() it
  // alone.
  bool can_be_queued() const;
  bool can_join_a_batch() const { return !is_staged(); }
  device::Device& device() const { return *device_; }
  device::Context context() const { return pack::worker_of(box_move_).context; }
  void join(pack::Batch& batch) const { batch.add(box_move_); }
  pack::Queued queue();

  // True: the receive must be posted with its last byte one byte behind its place. This is the guard against messages
  // that are too long (device/host_pages.hpp).
  bool sets_last_byte_apart() const;
  // Moves the last byte of a message of full length to its place, before the message is unpacked.
  void bring_last_byte_back();

 private:
  PackedBuffer(Endpoint&& endpoint, device::Device* device);
  bool has_memory() const { return staging_ || shared_; }
  bool is_programs() const { return model::packs_nothing(strategy_); }
  bool is_staged() const { return on_device_ && !own_dense_; }  // packed bytes elsewhere are on the device already
  bool is_received() const { return direction_ == pack::Direction::unpack; }
  model::Features features() const;
  device::Overrun overrun() const;
  void take_memory(device::Limit limit);
  bool has_taken(device::MemoryKind kind, device::Limit limit);  // false: there is no such memory
  bool may_be_pinned_later() const;
  void take_stage(device::Limit limit);
  void use(void* dense, const device::Location& location);
  void leave_ended_context();
  bool move_by_gpu_or_host();  // false: by the host, after a failure
  bool has_lost_buffer() const;
  void move_by_gpu();
  void unpack_part(std::int64_t begin, std::int64_t bytes);
  void turn(pack::Direction direction);

  // From the Endpoint (above).
  pack::Direction direction_;   // pack: it is sent
  pack::PreparedPtr prepared_;  // the plan; box_move_ uses it
  Strategy strategy_;           // selects the memory of the packed bytes, and what moves them
  std::int64_t chunk_bytes_;    // of the strategy "staged"; 0: the model chooses it
  bool is_bare_;                // it has no memory for packed bytes
  bool may_be_direct_;          // the receive may be published, or the send may claim one

  std::optional<device::Limit> pinned_within_{};  // make_ready() takes pinned memory within this limit
  pack::BoxMove box_move_;                        // between the program's buffer and the packed bytes
  bool is_in_one_allocation_;                     // the program's buffer
  const bool was_on_gpu_;                         // the program's buffer, or a part of it, at first
  std::optional<pack::End> own_dense_{};          // its own memory, while its packed bytes are elsewhere
  device::Device* device_;                        // may be null for host memory
  device::Earlier earlier_;                       // work of the program; kernels on the buffer start after it
  std::optional<device::Staging> staging_{};      // its own memory for the packed bytes
  std::optional<device::Staging> on_device_{};    // of "staged": for copies that overlap kernels; empty without room
  std::shared_ptr<device::Staging> shared_{};     // in place of staging_: memory of several packed buffers
};

}  // namespace tempi::message
