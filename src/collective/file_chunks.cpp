#include "collective/file_chunks.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/options.hpp"
#include "collective/blocks.hpp"
#include "collective/file_pointer.hpp"
#include "collective/file_view.hpp"
#include "collective/later_access.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "mpi_config.h"
#include "request/finish.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transfer/strategy.hpp"

namespace tempi::collective {
namespace {

// Open MPI 5.0.11 looks at its list of pending file requests while another thread takes one out, and crashes. A call in
// chunks would have hundreds of them. Therefore, each chunk is a blocking call with Open MPI. Between the MPI calls of
// the program, only a progress thread moves chunks.
constexpr ChunkCalls kChunkCalls = TEMPI_MPI_ABI_OPENMPI ? ChunkCalls::blocking : ChunkCalls::nonblocking;

using pack::Chunk;
using pack::Direction;

// A buffer in GPU memory that is large enough.
struct LargeBuffer {
  const KnownType* type;
  Count count;
  pack::End end;

  std::int64_t bytes() const { return count * type->size(); }
  std::vector<Chunk> chunks(Direction direction, std::int64_t etype_bytes) const {
    const auto chunk_bytes = [](std::int64_t) { return number(Option::FILE_CHUNK); };
    const pack::End dense = pack::dense_end(type->plan->layout, nullptr);
    return pack::chunks_of(pack::box_move_of(direction, *type->prepared, count, end, dense), chunk_bytes, etype_bytes);
  }
};

std::optional<LargeBuffer> large_buffer(const Argument& buffer, device::Device& device) {
  const std::int64_t chunk_bytes = number(Option::FILE_CHUNK);
  if (buffer.count <= 0 || chunk_bytes <= 0) return {};
  const KnownType& type = resolve(buffer.type, comm_null());
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(buffer.count, type.size(), &bytes) || bytes / 2 < chunk_bytes) return {};
  LargeBuffer large{&type, buffer.count, pack::laid_out_end(type.plan->layout, buffer.address, type.extent)};
  large.end.place = pack::locate(large.end, buffer.count, device);
  if (large.end.place.is_split() || !large.end.place.first.on_gpu()) return {};
  device::throw_failed_wait();
  return large;
}

// Empty: the library would not take the chunks as pieces of the file, or they are hardly shorter than the whole.
std::vector<Chunk> chunks_for(const LargeBuffer& buffer, std::int64_t etype_bytes) {
  if (etype_bytes <= 0 || buffer.bytes() % etype_bytes != 0) return {};
  std::vector<Chunk> chunks = buffer.chunks(Direction::pack, etype_bytes);
  const std::int64_t most = std::max(buffer.bytes() / 4, number(Option::FILE_CHUNK));
  const auto fits = [&](const Chunk& one) { return one.begin % etype_bytes == 0 && one.bytes() <= most; };
  return std::all_of(chunks.begin(), chunks.end(), fits) ? std::move(chunks) : std::vector<Chunk>{};
}

std::unique_ptr<ChunkPipe> make_pipe(device::Device& device, const LargeBuffer& buffer, device::Limit limit,
                                     std::vector<Chunk> packed, std::vector<Chunk> unpacked) {
  try {
    return std::make_unique<ChunkPipe>(device, buffer.end.place.first, limit, buffer.type->prepared, std::move(packed),
                                       std::move(unpacked));
  } catch (...) {
    warn_fallback("a file is accessed in one piece", caught_error().what());
    return nullptr;
  }
}

// True: it is better to move the buffer as a whole, because the library moves it between the MPI calls of the program.
bool is_staged_whole(const Call& call, const LargeBuffer& buffer) {
  return !call.blocks() && kChunkCalls == ChunkCalls::blocking && buffer.bytes() <= number(Option::POOL_LIMIT);
}

std::unique_ptr<CutAccess> cut_large(const Call& call, FileAccess file_access, Handle file, const LargeBuffer& buffer,
                                     device::Device& device) {
  if (is_staged_whole(call, buffer) || !has_offsets(file)) return nullptr;
  const FileView view = view_of(file);
  if (!view.is_native || is_atomic(file)) return nullptr;
  std::vector<Chunk> packed = chunks_for(buffer, view.etype_bytes), unpacked;
  if (packed.empty()) return nullptr;
  if (file_access == FileAccess::read) unpacked = buffer.chunks(Direction::unpack, view.etype_bytes);
  // Without the chunks, the whole buffer would be staged in pageable memory.
  const bool is_needed = call.blocks() || kChunkCalls == ChunkCalls::blocking;
  const device::Limit limit = is_needed ? device::Limit::none : device::Limit::pool;
  auto pipe = make_pipe(device, buffer, limit, std::move(packed), std::move(unpacked));
  if (!pipe) return nullptr;
  count_call(call.function, message::outcome_of(message::Strategy::oneshot),
             static_cast<std::uint64_t>(buffer.bytes()));
  return std::make_unique<CutAccess>(std::move(pipe), view.etype_bytes, file_access);
}

int carry_out(CutAccess& access, MPI_Status* programs, PartLibrary library) {
  MPI_Status own{};
  MPI_Status* const status = message::is_ignored(programs) ? &own : programs;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && access.has_next()) {
    code = access.call(library, status);
    if (code == MPI_SUCCESS) access.note_moved(*status);
  }
  access.end();
  real_pmpi().MPI_Status_set_elements_x(status, type_byte(), access.bytes());
  return code;
}

// Libraries that advance the file pointer also by what they have not moved do so by the whole access.
int carry_out_by_pointer(CutAccess& access, Handle file, MPI_Status* status, PartLibrary library) {
  const PointerHold hold(file, true);
  const Offset start = position_of(file);
  const int code = carry_out(access, status, library);
  const std::optional<Offset> asked = access.short_end();
  if (asked && position_of(file) == start + *asked) set_position(file, start + access.whole());
  return code;
}

}  // namespace

std::unique_ptr<CutAccess> cut(const Call& call, FileAccess file_access, Handle file, const Argument& argument) try {
  device::Device* const device = active() && !message::is_switched_off() ? device::current() : nullptr;
  if (device == nullptr) return nullptr;
  const std::optional<LargeBuffer> buffer = large_buffer(argument, *device);
  if (!buffer) return nullptr;
  message::flush_sends();
  return cut_large(call, file_access, file, *buffer, *device);
} catch (const Refused&) {  // the error handler has not been told
  return nullptr;
} catch (const LeftToLibrary&) {
  return nullptr;
}

std::optional<int> move_in_chunks(const Call& call, FileAccess file_access, Handle file, const Argument& buffer,
                                  MPI_Status* status, PartLibrary library) noexcept {
  try {
    const auto access = cut(call, file_access, file, buffer);
    if (!access) return {};
    const int code = uses_pointer(call.function) ? carry_out_by_pointer(*access, file, status, library)
                                                 : carry_out(*access, status, library);
    return message::tended(code);
  } catch (...) {
    return tell(caught_error(), call.owner, call.owned_by);
  }
}

std::optional<int> begin_in_chunks(const Call& call, FileAccess file_access, Handle file, std::optional<Offset> offset,
                                   const Argument& buffer) noexcept {
  if (call.request == nullptr) return {};
  try {
    auto access = cut(call, file_access, file, buffer);
    if (!access) return {};
    return message::tended(begin_later(call, {file, file_access, kChunkCalls}, offset, std::move(access)));
  } catch (const Refused& refused) {
    return tell(refused.code, call.owner, call.owned_by);
  } catch (...) {
    return tell(caught_error(), call.owner, call.owned_by);
  }
}

}  // namespace tempi::collective
