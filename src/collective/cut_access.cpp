#include "collective/cut_access.hpp"

#include <algorithm>

#include "base/trace.hpp"
#include "collective/element_type.hpp"

namespace tempi::collective {
namespace {

std::int64_t bytes_of(const MPI_Status& status, std::int64_t most) {
  Count bytes = 0;
  real_pmpi().MPI_Get_elements_x(&status, type_byte(), &bytes);
  return std::clamp<std::int64_t>(bytes, 0, most);
}

}  // namespace

CutAccess::CutAccess(std::unique_ptr<ChunkPipe> pipe, std::int64_t etype_bytes, FileAccess file_access)
    : pipe_(std::move(pipe)), etype_bytes_(etype_bytes), reads_(file_access == FileAccess::read) {
  for (std::size_t k = 0; k < std::min<std::size_t>(2, pipe_->size()); ++k) pipe_->begin_packing(k);
}

int CutAccess::call(PartLibrary library, void* result) {
  const pack::Chunk& chunk = pipe_->chunk(next_);
  const std::byte* const packed = pipe_->end_packing(next_);
  const OwnTypePtr type = packed_element(chunk.bytes());
  return trace::traced("library collective",
                       [&] { return library({chunk.begin / etype_bytes_, packed, 1, type->handle(), result}); });
}

void CutAccess::note_moved(const MPI_Status& status) {
  const std::size_t k = next_++;
  const std::int64_t wanted = pipe_->chunk(k).bytes(), moved = bytes_of(status, wanted);
  bytes_ += moved;
  is_short_ = moved < wanted;
  if (reads_) pipe_->begin_unpacking(k);
  if (is_unpacking_) pipe_->end_unpacking(k - 1);
  is_unpacking_ = reads_;
  if (!is_short_ && k + 2 < pipe_->size()) pipe_->begin_packing(k + 2);
}

void CutAccess::end() {
  if (std::exchange(is_unpacking_, false)) pipe_->end_unpacking(next_ - 1);
}

std::optional<Offset> CutAccess::short_end() const {
  return is_short_ ? std::optional(pipe_->chunk(next_ - 1).end / etype_bytes_) : std::nullopt;
}

}  // namespace tempi::collective
