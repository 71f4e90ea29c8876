// A nonblocking access of a file in chunks. One chunk at a time is a call of the library with an explicit offset. MPI
// calls of the program, and the progress thread, begin the next chunk when the library has moved one: each call at most
// one chunk, so that it does not wait for the whole access.
//
// Invariants
//   One thread at a time makes steps; it holds no lock, because the library may call an error handler of the program,
//   which calls MPI.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "collective/cut_access.hpp"
#include "collective/run.hpp"
#include "request/message.hpp"

namespace tempi::collective {

enum class ChunkCalls : bool { nonblocking, blocking };

struct LaterFile {
  Handle file;
  FileAccess access;
  ChunkCalls calls;
};

class LaterAccess final : public message::Continuation {
 public:
  LaterAccess(const Real& real, LaterFile file, std::unique_ptr<CutAccess> access);

  // Begins the first chunk, at an offset in etypes. Returns the code of the library.
  int begin(Offset start);
  // True: a chunk was moved or begun, or the access has ended.
  bool go_on() noexcept;
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }
  bool has_ended(message::Message& message, bool waits) noexcept override;

  // Of an access that has ended.
  std::int64_t bytes() const { return access_->bytes(); }
  int code() const { return code_; }

 private:
  void call_library();
  int call_nonblocking(const FilePart& part);
  int call_blocking(const FilePart& part);
  bool has_moved_chunk();
  bool make_step();
  void end() noexcept;

  const Real& real_;
  const LaterFile file_;
  const std::unique_ptr<CutAccess> access_;
  Offset start_ = 0;
  Handle request_ = request_null();
  bool is_moving_ = false;  // the library moves a chunk
  int code_ = MPI_SUCCESS;  // of the library, which has told an error handler
  std::optional<Error> failure_{};
  std::atomic<bool> is_busy_{false}, has_ended_{false};
};

// Begins an access that is cut, and hands out its request. Without an offset, the file pointer has it. Throws Error, or
// Refused.
int begin_later(const Call& call, LaterFile file, std::optional<Offset> offset, std::unique_ptr<CutAccess> cut);

}  // namespace tempi::collective
