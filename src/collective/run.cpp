#include "collective/run.hpp"

#include "base/trace.hpp"
#include "collective/stage.hpp"
#include "device/host_pages.hpp"
#include "message/engine.hpp"
#include "message/grouped.hpp"
#include "message/quiet.hpp"
#include "message/side.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"

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
    std::optional<StagedArgument>& place = arguments_[n_++];
    return place.emplace(argument, message, device).lent();
  }
  bool any() const { return n_ > 0; }

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

  std::array<std::optional<StagedArgument>, 3> arguments_{};
  std::size_t n_ = 0;
};

void throw_failure(Message& message) {
  if (message.failure) throw Error(*message.failure);
}

// The library's function over the arguments as they are lent.
using Lending = FunctionRef<int()>;

int call_blocking(const MessagePtr& message, Lending library) {
  const int code = trace::traced("library collective", [&] { return library(); });
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

int call_with_request(const Call& call, const MessagePtr& message, Lending library) {
  store_handle(call.request, request_null());
  const int code = library();
  message->request = load_handle(call.request);
  if (!is_made(code, message->request)) return code;
  if (call.lifetime == message::Lifetime::plain) begin(message);
  else Engine::get().manage(message);
  return code;
}

int call_kept(const Call& call, const MessagePtr& message, const Lent& given, Lending library) {
  const int code = library();
  if (code == MPI_SUCCESS) (*call.keep)(message, given);
  return code;
}

int carry_out(const Call& call, const Ends& ends, device::Device& device, Library library) {
  auto message = std::make_shared<Message>(call.real, call.comm, call.lifetime);
  const auto staged = std::make_shared<Staged>();
  message->beside = staged;
  const Lent out = staged->add(ends.out, *message, device), in = staged->add(ends.in, *message, device),
             compared = staged->add(ends.compared, *message, device);
  const auto lending = [&] { return library(out, in, compared); };
  staged->count(call.function);
  if (!staged->any()) return lending();
  if (call.lifetime != message::Lifetime::programs) {
    message::pack_together({message});
    throw_failure(*message);
  }
  if (call.keep != nullptr) return call_kept(call, message, in, lending);
  return call.blocks() ? call_blocking(message, lending) : call_with_request(call, message, lending);
}

int call_untouched(const Ends& ends, Library library) {
  return library(as_given(ends.out), as_given(ends.in), as_given(ends.compared));
}

int run_described(const Call& call, const Ends& given, DescribeAlone describe, device::Device& device,
                  Library library) {
  Ends ends = given;
  try {
    describe(ends);
    return carry_out(call, ends, device, library);
  } catch (const Refused& refused) {
    return refused.code;
  } catch (const LeftToLibrary&) {
    return call_untouched(given, library);
  } catch (...) {
    return tell(caught_error(), call.owner, call.owned_by);
  }
}

// Null: all is the library's.
device::Device* device_for(const Call& call) {
  if (!active() || message::is_switched_off()) return nullptr;
  if (!call.blocks() && call.request == nullptr && call.keep == nullptr) return nullptr;
  device::Device* const device = device::current();
  if (device == nullptr && !message::is_quiet()) message::look_whether_quiet();
  return device;
}

}  // namespace

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept {
  return run_alone(
      call, arguments,
      [&](Ends& ends) {
        check(call.comm);
        describe(Group(call.comm), ends);
      },
      library);
}

int run_alone(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) noexcept {
  if (call.waits()) Engine::flush();
  device::Device* const device = device_for(call);
  const int code = device == nullptr ? call_untouched(arguments, library)
                                     : run_described(call, arguments, describe, *device, library);
  return call.waits() ? Engine::tended(code) : code;
}

int finish(const std::vector<MessagePtr>& calls, Owner owner, Handle owned_by) noexcept {
  message::unpack_grouped(calls);
  int code = MPI_SUCCESS;
  for (const MessagePtr& call : calls) {
    if (call->failure) code = tell(*call->failure, owner, owned_by);
  }
  return code;
}

int tell(const Error& error, Owner owner, Handle owned_by) noexcept {
  if (owner == Owner::comm) return raise(owned_by, error);
  const int code = error_code(error);
  if (owner == Owner::file) real_pmpi().MPI_File_call_errhandler(owned_by, code);
  else real_pmpi().MPI_Win_call_errhandler(owned_by, code);
  return code;
}

}  // namespace tempi::collective
