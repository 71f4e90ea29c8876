#include "collective/continued.hpp"

#include "base/recycled.hpp"
#include "collective/blocks.hpp"
#include "mpi/errors.hpp"
#include "request/progress.hpp"

namespace tempi::collective {
namespace {

// The messages of a schedule that is under way.
class ScheduleUnderWay final : public message::Continuation {
 public:
  explicit ScheduleUnderWay(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}

  bool has_ended(message::Message& message, bool waits) noexcept override {
    try {
      return schedule_->has_ended(waits, message.start_code);
    } catch (...) {
      message.failure.emplace(caught_error());
      return true;
    }
  }

 private:
  const std::shared_ptr<Schedule> schedule_;
};

class ByMessages final : public message::CompletionHook {
 public:
  ByMessages(std::shared_ptr<Schedule> schedule, std::shared_ptr<OwnComm> comm)
      : comm_(std::move(comm)), schedule_(std::move(schedule)) {}

  int start(message::Message& message) noexcept override {
    try {
      if (const int code = schedule_->start(); code != MPI_SUCCESS) return raise(message.comm, code);
      message.continuation = std::make_shared<ScheduleUnderWay>(schedule_);
    } catch (const Refused& refused) {
      return raise(message.comm, refused.code);
    } catch (...) {
      return raise(message.comm, caught_error());
    }
    message.state.become(message::MessageState::replaced);
    return MPI_SUCCESS;
  }

  std::shared_ptr<message::StreamRounds> stream_rounds() override {
    return schedule_->may_be_on_stream() ? schedule_ : nullptr;
  }

 private:
  const std::shared_ptr<OwnComm> comm_;  // a stream may be the first to use it
  const std::shared_ptr<Schedule> schedule_;
};

}  // namespace

message::MessagePtr continued_message(const Call& call, const Group& group,
                                      std::shared_ptr<message::CompletionHook> hook) {
  const bool is_programs = call.lifetime == message::Lifetime::programs;
  auto message =
      make_recycled<message::Message>(call.real, group.comm, is_programs ? call.lifetime : message::Lifetime::ours);
  message->hook = std::move(hook);
  const int code =
      call.real.MPI_Send_init(nullptr, 0, type_byte(), group.rank, Schedule::kAnyCall, group.comm, &message->request);
  if (!is_made(code, message->request)) throw Refused{code};
  return message;
}

std::shared_ptr<message::CompletionHook> by_messages(std::shared_ptr<Schedule> schedule,
                                                     std::shared_ptr<OwnComm> comm) {
  return std::make_shared<ByMessages>(std::move(schedule), std::move(comm));
}

void hand_out(const Call& call, const message::MessagePtr& message) {
  message::ManagedRequests::get().manage(message);
  store_handle(call.request, message->request);
}

}  // namespace tempi::collective
