// A packed copy of the bytes that an in-place call sends, because a peer may overwrite the blocks that they come from.
// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw with MPI_IN_PLACE, which have one block for each peer, use it.
#pragma once

#include <vector>

#include "collective/element_type.hpp"
#include "collective/packed_memory.hpp"
#include "collective/schedule_steps.hpp"
#include "request/message.hpp"

namespace tempi::collective {

class SentCopy {
 public:
  // Takes memory of the GPU that has all blocks, else memory of the host; nothing is packed. Throws LeftToLibrary, and
  // Error (no_memory).
  SentCopy(const Real& real, Handle comm, const Steps& steps, device::Limit limit);
  SentCopy(const SentCopy&) = delete;
  SentCopy& operator=(const SentCopy&) = delete;

  // The steps that are sent, in the copy.
  const void* address() const { return packed_.empty() ? nullptr : memory_.data(); }
  const std::vector<Step>& steps() const { return packed_; }
  std::int64_t bytes() const { return bytes_; }

  // `endpoint` is that of the copied step for this peer. Gives it the strategy that the program's
  // block would use.
  void adapt(message::Endpoint& endpoint, int peer) const;

  // Packs the program's blocks again; complete on return. Throws Error.
  void renew();

 private:
  // A block of the program, and the place of its bytes in the copy. A foreign block has no end and
  // no chosen strategy.
  struct Source {
    pack::End end{};
    std::int64_t offset = 0, bytes = 0;
    message::Choice choice{};
  };
  // Its datatype is not understood: the library packs it.
  struct Foreign {
    const void* address;
    int count, bytes;
    Handle type;
    std::int64_t offset;
  };
  void find_source(const Step& step, const void* address, device::Device* device);
  void find_place(Source& source, const Step& step, const void* address, device::Device* device);
  void take_memory(device::Device* device, device::Limit limit);
  void add(const Step& step, const void* address, const Source& source, device::Device* device);
  void pack(const Foreign& block) const;

  const message::MessagePtr message_;  // only its transfers that are sent are used
  std::vector<Source> sources_{};
  std::vector<Foreign> foreign_{};
  PackedMemory memory_{};
  std::int64_t bytes_ = 0;
  std::vector<OwnTypePtr> types_{};
  std::vector<Step> packed_{};
};

}  // namespace tempi::collective
