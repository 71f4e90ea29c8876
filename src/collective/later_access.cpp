#include "collective/later_access.hpp"

#include "collective/continued.hpp"
#include "collective/file_pointer.hpp"
#include "collective/file_view.hpp"
#include "collective/pending_files.hpp"
#include "collective/wait_until.hpp"
#include "mpi/own_comm.hpp"
#include "request/finish.hpp"

namespace tempi::collective {

LaterAccess::LaterAccess(const Real& real, LaterFile file, std::unique_ptr<CutAccess> access)
    : real_(real), file_(file), access_(std::move(access)) {}

int LaterAccess::begin(Offset start) {
  start_ = start;
  call_library();
  if (code_ != MPI_SUCCESS) access_->end();
  return code_;
}

int LaterAccess::call_nonblocking(const FilePart& part) {
  const Offset offset = start_ + part.etypes;
  const int count = static_cast<int>(part.count);
  return file_.access == FileAccess::read
             ? real_.MPI_File_iread_at(file_.file, offset, part.writable(), count, part.type, part.result)
             : real_.MPI_File_iwrite_at(file_.file, offset, part.address, count, part.type, part.result);
}

int LaterAccess::call_blocking(const FilePart& part) {
  const Offset offset = start_ + part.etypes;
  const int count = static_cast<int>(part.count);
  return file_.access == FileAccess::read
             ? real_.MPI_File_read_at(file_.file, offset, part.writable(), count, part.type, part.status())
             : real_.MPI_File_write_at(file_.file, offset, part.address, count, part.type, part.status());
}

void LaterAccess::call_library() {
  if (file_.calls == ChunkCalls::nonblocking) {
    code_ = access_->call([&](const FilePart& part) { return call_nonblocking(part); }, &request_);
    is_moving_ = code_ == MPI_SUCCESS;
    return;
  }
  MPI_Status status{};
  code_ = access_->call([&](const FilePart& part) { return call_blocking(part); }, &status);
  if (code_ == MPI_SUCCESS) access_->note_moved(status);
}

bool LaterAccess::has_moved_chunk() {
  int flag = 0;
  MPI_Status status{};
  code_ = real_.MPI_Test(&request_, &flag, &status);
  is_moving_ = code_ == MPI_SUCCESS && !flag;
  if (code_ != MPI_SUCCESS || !flag) return false;
  access_->note_moved(status);
  return true;
}

// At most one chunk: an MPI call of the program must not wait for the whole access.
bool LaterAccess::make_step() {
  const bool has_moved = is_moving_ && has_moved_chunk();
  if (is_moving_) return false;
  if (code_ == MPI_SUCCESS && access_->has_next()) {
    if (!access_->is_next_packed()) return has_moved;
    call_library();
    if (is_moving_ || (code_ == MPI_SUCCESS && access_->has_next())) return true;
  }
  end();
  return true;
}

void LaterAccess::end() noexcept {
  try {
    access_->end();
  } catch (...) {
    if (!failure_) failure_.emplace(caught_error());
  }
  has_ended_.store(true, std::memory_order_release);
}

bool LaterAccess::go_on() noexcept {
  if (has_ended() || is_busy_.exchange(true, std::memory_order_acquire)) return false;
  bool is_made = true;
  try {
    is_made = !has_ended() && make_step();
  } catch (...) {
    failure_.emplace(caught_error());
    end();
  }
  is_busy_.store(false, std::memory_order_release);
  return is_made;
}

// The MPI call that asks has made a step before.
bool LaterAccess::has_ended(message::Message& message, bool waits) noexcept {
  if (!waits && !has_ended()) return false;
  try {
    wait_until(Clock::time_point::max(), [&] { return go_on(), has_ended(); });
  } catch (const Refused& refused) {  // the library refuses to make progress
    message.start_code = refused.code;
    return true;
  } catch (...) {
    message.failure.emplace(caught_error());
    return true;
  }
  message.start_code = code_;
  if (failure_) message.failure.emplace(*failure_);
  return true;
}

namespace {

// The outcome of a nonblocking access, for the program.
class LaterOutcome final : public message::CompletionHook {
 public:
  LaterOutcome(std::shared_ptr<const LaterAccess> access, Handle file) : access_(std::move(access)), file_(file) {}

  void tell_status(MPI_Status& status) const noexcept override {
    real_pmpi().MPI_Status_set_elements_x(&status, type_byte(), access_->bytes());
  }
  // The library has told of its errors.
  int tell(Handle, int code) noexcept override {
    return access_->code() != MPI_SUCCESS ? code : collective::tell(code, Owner::file, file_);
  }

 private:
  const std::shared_ptr<const LaterAccess> access_;
  const Handle file_;
};

// Begins the first chunk, and gives the file pointer its place behind the whole access.
int begin_first(LaterAccess& access, Handle file, std::optional<Offset> offset, Offset whole) {
  const PointerHold hold(file, !offset);
  const Offset start = offset ? *offset : position_of(file);
  const int code = access.begin(start);
  if (code == MPI_SUCCESS && !offset) set_position(file, start + whole);
  return code;
}

}  // namespace

int begin_later(const Call& call, LaterFile file, std::optional<Offset> offset, std::unique_ptr<CutAccess> cut) {
  const Offset whole = cut->whole();
  const auto access = std::make_shared<LaterAccess>(call.real, file, std::move(cut));
  const message::MessagePtr message =
      continued_message(call, Group(own_comm()), std::make_shared<LaterOutcome>(access, file.file));
  int code = MPI_SUCCESS;
  try {
    code = begin_first(*access, file.file, offset, whole);
  } catch (...) {
    message::end_message(*message);
    throw;
  }
  if (code != MPI_SUCCESS) {
    message::end_message(*message);
    store_handle(call.request, request_null());
    return code;
  }
  message->continuation = access;
  message->state.become(message::MessageState::replaced);
  PendingFiles::get().add(access);
  hand_out(call, message);
  return MPI_SUCCESS;
}

}  // namespace tempi::collective
