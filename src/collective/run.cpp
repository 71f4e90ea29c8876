#include "collective/run.hpp"

#include "base/recycled.hpp"
#include "base/trace.hpp"
#include "collective/agreement.hpp"
#include "collective/own_block.hpp"
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

// The arguments of a call that are not the program's.
class Staged final : public message::Beside {
 public:
  Lent add(const Argument& argument, Message& message, device::Device* device) {
    if (!needs_staging(argument, message.comm, device)) return without_own_block(argument);
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

  // `copied`: bytes of a process's own block.
  void count(Function function, std::int64_t copied) const noexcept {
    std::int64_t bytes = copied;
    for (const auto& one : arguments_) bytes += one ? one->bytes() : 0;
    const Outcome unstaged = copied > 0 ? message::outcome_of(message::Strategy::host) : Outcome::passed_faster;
    count_call(function, any() ? message::outcome_of(arguments_.front()->strategy()) : unstaged,
               static_cast<std::uint64_t>(bytes));
  }

 private:
  Lent without_own_block(const Argument& argument) {
    Lent lent = as_given(argument);
    if (argument.own_block >= 0) lent.types = types_[n_types_++].emplace(argument).data();
    return lent;
  }

  template <class Fn>
  void each(const Fn& fn) const {
    for (const auto& one : arguments_) {
      if (one && one->image()) fn(*one->image());
    }
  }

  std::array<std::optional<StagedArgument>, 3> arguments_{};
  std::array<std::optional<BlockTypes>, 2> types_{};
  std::size_t n_ = 0, n_types_ = 0;
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

// The second of two calls that are complete at once, and share a request, is finished here. The library is not asked
// whether the first one is: a query ends the request of a file in MPICH.
void begin(const MessagePtr& message) {
  message->state.become(MessageState::started);
  if (Engine::get().manages_first(message)) return;
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

int carry_out(const Call& call, Ends& ends, device::Device* device, Library library) {
  const std::int64_t copied = copy_own_block(call, ends, device);
  auto message = make_recycled<Message>(call.real, call.comm, call.lifetime);
  const auto staged = std::make_shared<Staged>();
  message->beside = staged;
  const Lent out = staged->add(ends.out, *message, device), in = staged->add(ends.in, *message, device),
             compared = staged->add(ends.compared, *message, device);
  const auto lending = [&] { return library(out, in, compared); };
  staged->count(call.function, copied);
  if (!staged->any()) return lending();
  if (call.lifetime != message::Lifetime::programs) {
    message::pack_all_of(*message);
    throw_failure(*message);
  }
  if (call.keep != nullptr) return call_kept(call, message, in, lending);
  return call.blocks() ? call_blocking(message, lending) : call_with_request(call, message, lending);
}

int call_untouched(const Ends& ends, Library library) {
  return library(as_given(ends.out), as_given(ends.in), as_given(ends.compared));
}

int run_described(const Call& call, const Ends& given, DescribeAlone describe, device::Device* device,
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

// False: all is the library's.
bool may_be_ours(const Call& call, const device::Device* device) {
  if (!active() || message::is_switched_off()) return false;
  if (!call.blocks() && call.request == nullptr && call.keep == nullptr) return false;
  if (device != nullptr) return true;
  if (!message::is_quiet()) message::look_whether_quiet();
  return may_be_packed_on_host(call.function) && message::may_pack_on_host();
}

// The call is carried out by messages if all members do so; else nothing.
std::optional<int> run_by_messages(const Call& call, const Ends& arguments, Describe describe) {
  if (!is_counted(call.function) || !active()) return {};
  if (call.waits()) Engine::flush();
  if (!call.blocks() && call.request == nullptr) return {};
  try {
    check(call.comm);
    Agreement* const agreement = Agreement::of(call.comm);
    if (agreement == nullptr || agreement->is_for_library(call)) return {};
    const Group group(call.comm);
    Ends ends = arguments;
    describe(group, ends);
    return agreement->carry_out(call, group, ends);
  } catch (const Refused& refused) {
    return refused.code;
  } catch (...) {
    return tell(caught_error(), call.owner, call.owned_by);
  }
}

}  // namespace

int run(const Call& call, const Ends& arguments, Describe describe, Library library) noexcept {
  if (const std::optional<int> code = run_by_messages(call, arguments, describe)) {
    return call.waits() ? Engine::tended(*code) : *code;
  }
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
  device::Device* const device = active() ? device::current() : nullptr;
  const int code = may_be_ours(call, device) ? run_described(call, arguments, describe, device, library)
                                             : call_untouched(arguments, library);
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
