// A nonblocking access of a file in chunks. One chunk at a time is a nonblocking call of the library with an explicit
// offset. MPI calls of the program, and the progress thread, begin the next chunk when the library has moved one.
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

class LaterAccess final : public message::Continuation {
 public:
  LaterAccess(const Real& real, Handle file, FileAccess file_access, std::unique_ptr<CutAccess> access);

  // Begins the first chunk, at an offset in etypes. Returns the code of the library.
  int begin(Offset start);
  // Makes the steps that can be made now. True: the access has ended.
  bool go_on() noexcept;
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }
  bool has_ended(message::Message& message, bool waits) noexcept override;

  // Of an access that has ended.
  std::int64_t bytes() const { return access_->bytes(); }
  int code() const { return code_; }

 private:
  int call_library();
  bool make_steps();
  void end() noexcept;

  const Real& real_;
  const Handle file_;
  const FileAccess file_access_;
  const std::unique_ptr<CutAccess> access_;
  Offset start_ = 0;
  Handle request_ = request_null();
  int code_ = MPI_SUCCESS;  // of the library, which has told an error handler
  std::optional<Error> failure_{};
  std::atomic<bool> is_busy_{false}, has_ended_{false};
};

// Begins an access that is cut, and hands out its request. Without an offset, the file pointer has it. Throws Error, or
// Refused.
int begin_later(const Call& call, FileAccess file_access, Handle file, std::optional<Offset> offset,
                std::unique_ptr<CutAccess> cut);

}  // namespace tempi::collective
