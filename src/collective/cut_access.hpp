// A large access of a file in chunks, between the calls of the library that move them.
//
// Invariants
//   The first chunk that the library moves only in part ends the access. Then the rest of a buffer is as it was.
#pragma once

#include <memory>
#include <optional>

#include "collective/chunk_pipe.hpp"
#include "mpi/real.hpp"

namespace tempi::collective {

enum class FileAccess : bool { read, write };

// A piece of an access. The explicit offset of the call grows by `etypes`. The result is a status, or a request.
struct FilePart {
  Offset etypes;
  const void* address;
  Count count;
  Handle type;
  void* result;

  void* writable() const { return const_cast<void*>(address); }
  MPI_Status* status() const { return static_cast<MPI_Status*>(result); }
};
// The function of the library, applied to a piece. The whole access is a piece, too.
using PartLibrary = FunctionRef<int(const FilePart& part)>;

class CutAccess {
 public:
  CutAccess(std::unique_ptr<ChunkPipe> pipe, std::int64_t etype_bytes, FileAccess file_access);

  bool has_next() const { return next_ < pipe_->size() && !is_short_; }
  // True: call() does not wait.
  bool is_next_packed() const { return pipe_->is_packed(next_); }
  // Waits until the next chunk is packed, and applies the library's function to it. Throws Error.
  int call(PartLibrary library, void* result);
  // The library has moved the chunk. Throws Error.
  void note_moved(const MPI_Status& status);
  // After the last chunk, or an error: waits until the chunks are unpacked. Throws Error.
  void end();

  std::int64_t bytes() const { return bytes_; }
  // In etypes. whole(): the whole access. short_end(): the end of the chunk that the library has moved only in part.
  Offset whole() const { return pipe_->chunk(pipe_->size() - 1).end / etype_bytes_; }
  std::optional<Offset> short_end() const;

 private:
  const std::unique_ptr<ChunkPipe> pipe_;
  const std::int64_t etype_bytes_;
  const bool reads_;
  std::size_t next_ = 0;
  std::int64_t bytes_ = 0;  // that the library has moved
  bool is_short_ = false, is_unpacking_ = false;
};

}  // namespace tempi::collective
