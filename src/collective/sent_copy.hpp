// The bytes that a call in place sends, packed into memory of ours: a peer may write over the blocks that they come
// from. Of MPI_Alltoall and its relatives with MPI_IN_PLACE.
#pragma once

#include <vector>

#include "collective/element_type.hpp"
#include "collective/packed_memory.hpp"
#include "collective/partners.hpp"
#include "message/message.hpp"

namespace tempi::collective {

class SentCopy {
 public:
  // Takes memory of the GPU that has all blocks, else memory of the host; nothing is packed. Throws LeftToLibrary for a
  // datatype that is not understood, and Error (no_memory).
  SentCopy(const Real& real, Handle comm, const Pieces& pieces);
  SentCopy(const SentCopy&) = delete;
  SentCopy& operator=(const SentCopy&) = delete;

  // The pieces that are sent, in the copy.
  const void* address() const { return packed_.empty() ? nullptr : memory_.data(); }
  const std::vector<Piece>& pieces() const { return packed_; }

  // What lies in the program's buffer now; complete on return. Throws Error.
  void renew();

 private:
  struct Source {
    pack::End end;
    std::int64_t offset;  // of its packed bytes
  };
  std::vector<Source> find_sources(const Pieces& pieces, device::Device* device);
  void take_memory(device::Device* device);
  void add(const Piece& piece, const Source& source, device::Device* device);

  const message::MessagePtr message_;  // of which only the parts that are sent are used
  PackedMemory memory_{};
  std::int64_t bytes_ = 0;
  bool is_on_one_gpu_ = true;
  device::Location worker_{};  // of the GPU that packs
  std::vector<OwnTypePtr> types_{};
  std::vector<Piece> packed_{};
};

}  // namespace tempi::collective
