#include "collective/run.hpp"

#include "base/trace.hpp"
#include "collective/stage.hpp"
#include "device/host_pages.hpp"
#include "message/engine.hpp"
#include "message/grouped.hpp"
#include "message/message_call.hpp"
#include "message/quiet.hpp"
#include "message/side.hpp"
#include "mpi/active.hpp"

namespace tempi::collective {
namespace {

using message::Engine;
using message::Message;
using message::MessagePtr;
using message::MessageState;

// The staged arguments of a call.
class Staged final : public message::Beside {
 public:
  Lent add(const Argument& argument, Message& message, device::Device& device) {
    if (!needs_staging(argument, message.comm, device)) return as_given(argument);
    std::optional<StagedArgument>& place = arguments_[arguments_.front() ? 1 : 0];
    return place.emplace(argument, message, device).lent();
  }
  bool any() const { return arguments_.front().has_value(); }

  void packed() noexcept override {
    each([](const Image& image) { image.spread(); });
  }
  void arrived() noexcept override {
    each([](const Image& image) { image.collect(); });
  }

  void count(Function function) const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& one : arguments_) bytes += one ? static_cast<std::uint64_t>(one->bytes()) : 0;
    count_call(function, any() ? message::outcome_of(arguments_.front()->strategy()) : Outcome::passed_faster, bytes);
  }

 private:
  template <class Fn>
  void each(const Fn& fn) const {
    for (const auto& one : arguments_) {
      if (one && one->image()) fn(*one->image());
    }
  }

  std::array<std::optional<StagedArgument>, 2> arguments_{};
};

void throw_failure(Message& message) {
  if (message.failure) throw Error(*message.failure);
}

int call_blocking(const MessagePtr& message, Library library, const Lent& out, const Lent& in) {
  const int code = trace::traced("library collective", [&] { return library(out, in); });
  if (code != MPI_SUCCESS) {
    device::discard_overruns();
    return code;
  }
  message::unpack_grouped({message});
  throw_failure(*message);
  return code;
}

// Libraries share one request among calls that are complete at once: such a call is finished here.
void begin(const MessagePtr& message) {
  int flag = 0;
  message->state.become(MessageState::started);
  message->mpi.MPI_Request_get_status(message->request, &flag, MPI_STATUS_IGNORE);
  if (!flag) return Engine::get().manage(message);
  message::unpack_grouped({message});
  throw_failure(*message);
}

int call_with_request(const Call& call, const MessagePtr& message, Library library, const Lent& out, const Lent& in) {
  store_handle(call.request, request_null());
  const int code = library(out, in);
  message->request = load_handle(call.request);
  if (!is_made(code, message->request)) return code;
  if (call.lifetime == message::Lifetime::plain) begin(message);
  else Engine::get().manage(message);
  return code;
}

int carry_out(const Call& call, const Ends& ends, device::Device& device, Library library) {
  auto message = std::make_shared<Message>(call.real, call.comm, call.lifetime);
  const auto staged = std::make_shared<Staged>();
  message->beside = staged;
  const Lent out = staged->add(ends.out, *message, device), in = staged->add(ends.in, *message, device);
  staged->count(call.function);
  if (!staged->any()) return library(out, in);
  if (call.lifetime != message::Lifetime::programs) {
    message::pack_together({message});
    throw_failure(*message);
  }
  return call.blocks() ? call_blocking(message, library, out, in) : call_with_request(call, message, library, out, in);
}

int run_described(const Call& call, Ends ends, DescribeAlone describe, device::Device& device, Library library) {
  const Lent out = as_given(ends.out), in = as_given(ends.in);
  try {
    describe(ends);
    return carry_out(call, ends, device, library);
  } catch (const Refused& refused) {
    return refused.code;
  } catch (const LeftToLibrary&) {
    return library(out, in);
  }
}

// Null: all is the library's.
device::Device* device_for(const Call& call) {
  if (!active() || message::is_switched_off()) return nullptr;
  if (!call.blocks() && call.request == nullptr) return nullptr;
  device::Device* const device = device::current();
  if (device == nullptr && !message::is_quiet()) message::look_whether_quiet();
  return device;
}

}  // namespace

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept {
  if (call.waits()) Engine::flush();
  const auto describe_here = [&](Ends& ends) {
    check(call.comm);
    describe(Group(call.comm), ends);
  };
  const int code = run_alone(call, arguments, describe_here, library);
  return call.waits() ? Engine::tended(code) : code;
}

int run_alone(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) noexcept {
  device::Device* const device = device_for(call);
  if (device == nullptr) return library(as_given(arguments.out), as_given(arguments.in));
  return message::guarded(call.comm, [&] { return run_described(call, arguments, describe, *device, library); });
}

}  // namespace tempi::collective
