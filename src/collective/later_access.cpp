#include "collective/later_access.hpp"

#include "collective/continued.hpp"
#include "collective/file_pointer.hpp"
#include "collective/file_view.hpp"
#include "collective/pending_files.hpp"
#include "collective/wait_until.hpp"
#include "mpi/own_comm.hpp"
#include "request/finish.hpp"

namespace tempi::collective {

LaterAccess::LaterAccess(const Real& real, Handle file, FileAccess file_access, std::unique_ptr<CutAccess> access)
    : real_(real), file_(file), file_access_(file_access), access_(std::move(access)) {}

int LaterAccess::begin(Offset start) {
  start_ = start;
  const int code = call_library();
  if (code != MPI_SUCCESS) access_->end();
  return code;
}

int LaterAccess::call_library() {
  const auto call = [&](const FilePart& part) {
    const Offset offset = start_ + part.etypes;
    const int count = static_cast<int>(part.count);
    return file_access_ == FileAccess::read
               ? real_.MPI_File_iread_at(file_, offset, part.writable(), count, part.type, part.result)
               : real_.MPI_File_iwrite_at(file_, offset, part.address, count, part.type, part.result);
  };
  return access_->call(call, &request_);
}

// True: there is no more to do.
bool LaterAccess::make_steps() {
  while (true) {
    int flag = 0;
    MPI_Status status{};
    if (code_ = real_.MPI_Test(&request_, &flag, &status); code_ != MPI_SUCCESS) return true;
    if (!flag) return false;
    access_->note_moved(status);
    if (!access_->has_next()) return true;
    if (code_ = call_library(); code_ != MPI_SUCCESS) return true;
  }
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
  if (has_ended()) return true;
  if (is_busy_.exchange(true, std::memory_order_acquire)) return false;
  try {
    if (!has_ended() && make_steps()) end();
  } catch (...) {
    failure_.emplace(caught_error());
    end();
  }
  is_busy_.store(false, std::memory_order_release);
  return has_ended();
}

bool LaterAccess::has_ended(message::Message& message, bool waits) noexcept {
  try {
    if (waits) wait_until(Clock::time_point::max(), [&] { return go_on(); });
    else if (!go_on()) return false;
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

int begin_later(const Call& call, FileAccess file_access, Handle file, std::optional<Offset> offset,
                std::unique_ptr<CutAccess> cut) {
  const Offset whole = cut->whole();
  const auto access = std::make_shared<LaterAccess>(call.real, file, file_access, std::move(cut));
  const message::MessagePtr message =
      continued_message(call, Group(own_comm()), std::make_shared<LaterOutcome>(access, file));
  if (const int code = begin_first(*access, file, offset, whole); code != MPI_SUCCESS) {
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
