// The bytes that a call in place sends, packed into memory of ours: a peer may write over the blocks that they come
// from. Of MPI_Alltoall and its relatives with MPI_IN_PLACE, in memory of one GPU.
#pragma once

#include <vector>

#include "collective/element_type.hpp"
#include "collective/partners.hpp"
#include "message/message.hpp"

namespace tempi::collective {

class SentCopy {
 public:
  // Nothing is packed. Throws LeftToLibrary for memory of the host, of several kinds or of several GPUs, and Error
  // (no_memory).
  SentCopy(const Real& real, Handle comm, const Pieces& pieces);
  SentCopy(const SentCopy&) = delete;
  SentCopy& operator=(const SentCopy&) = delete;

  // The pieces that are sent, in the copy.
  const void* address() const { return memory_ ? memory_->data() : nullptr; }
  const std::vector<Piece>& pieces() const { return packed_; }

  // What lies in the program's buffer now; complete on return. Throws Error.
  void renew();

 private:
  struct Source {
    pack::End end;
    std::int64_t offset;  // of its packed bytes
  };
  std::vector<Source> find_sources(const Pieces& pieces, device::Device& device);
  void add(const Piece& piece, const Source& source, device::Device& device);

  const message::MessagePtr message_;  // of which only the parts that are sent are used
  std::shared_ptr<device::Staging> memory_{};
  std::int64_t bytes_ = 0;
  device::Location gpu_{};
  std::vector<OwnTypePtr> types_{};
  std::vector<Piece> packed_{};
};

}  // namespace tempi::collective
