#include "collective/run.hpp"

#include <atomic>

#include "base/options.hpp"
#include "base/recycled.hpp"
#include "base/trace.hpp"
#include "collective/agreement.hpp"
#include "collective/blocks.hpp"
#include "collective/own_block.hpp"
#include "collective/stage.hpp"
#include "device/host_pages.hpp"
#include "device/stream_order.hpp"
#include "machine/handed.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "request/grouped_packing.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transfer/no_gpu.hpp"

namespace tempi::collective {
namespace {

using message::flush_sends;
using message::ManagedRequests;
using message::Message;
using message::MessagePtr;
using message::MessageState;
using message::tended;

// The arguments of a call that are not the program's.
class Staged final : public message::CompletionHook {
 public:
  explicit Staged(const Call& call) : owner_(call.owner), owned_by_(call.owned_by) {}

  GivenArgument add(const Argument& argument, Message& message, device::Device* device) {
    if (!needs_staging(argument, message.comm, device)) return without_own_block(argument);
    std::optional<StagedArgument>& place = arguments_[n_++];
    return place.emplace(argument, message, device).given_argument();
  }
  bool any() const { return n_ > 0; }

  void packed() noexcept override {
    each([](const Image& image) { image.spread(); });
  }
  void arrived() noexcept override {
    each([](const Image& image) { image.collect(); });
  }

  // A thread completes the request of an access to a window, another one may flush the window.
  bool begins_unpacking(Message&) noexcept override {
    return owner_ != Owner::window || !is_begun_.exchange(true, std::memory_order_acquire);
  }
  void unpacked() noexcept override {
    is_unpacked_.store(true, std::memory_order_release);
    is_unpacked_.notify_all();
  }
  void await_unpacked() noexcept override {
    if (owner_ == Owner::window) is_unpacked_.wait(false, std::memory_order_acquire);
  }

  int tell(Handle, int code) noexcept override { return collective::tell(code, owner_, owned_by_); }

  // `copied`: bytes of a process's own block.
  void count(Function function, std::int64_t copied, const Ends& ends) const noexcept {
    const bool is_passed_on = !any() && copied == 0;
    std::int64_t bytes = is_passed_on && flag(Option::REPORT) ? bytes_of(ends) : copied;
    for (const auto& one : arguments_) bytes += one ? one->bytes() : 0;
    const Outcome unstaged = copied > 0 ? message::outcome_of(message::Strategy::host) : Outcome::passed_to_library;
    count_call(function, any() ? message::outcome_of(arguments_.front()->strategy()) : unstaged,
               static_cast<std::uint64_t>(bytes));
  }

 private:
  GivenArgument without_own_block(const Argument& argument) {
    GivenArgument given_argument = as_given(argument);
    if (argument.own_block >= 0) given_argument.types = types_[n_types_++].emplace(argument).data();
    return given_argument;
  }

  template <class Fn>
  void each(const Fn& fn) const {
    for (const auto& one : arguments_) {
      if (one && one->image()) fn(*one->image());
    }
  }

  const Owner owner_;
  const Handle owned_by_;
  std::atomic<bool> is_begun_{false}, is_unpacked_{false};
  std::array<std::optional<StagedArgument>, 3> arguments_{};
  std::array<std::optional<BlockTypes>, 2> types_{};
  std::size_t n_ = 0, n_types_ = 0;
};

void throw_failure(Message& message) {
  if (message.failure) throw Error(*message.failure);
}

// The library's function over the arguments as they are exported.
using GivenCall = FunctionRef<int()>;

int call_blocking(const MessagePtr& message, GivenCall library) {
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
void begin(const Call& call, const MessagePtr& message, const GivenArgument& given) {
  message->state.become(MessageState::started);
  if (ManagedRequests::get().manages_first(message)) {
    if (call.keep != nullptr) (*call.keep)(message, given);
    return;
  }
  message::unpack_grouped({message});
  throw_failure(*message);
}

int call_with_request(const Call& call, const MessagePtr& message, const GivenArgument& given, GivenCall library) {
  store_handle(call.request, request_null());
  const int code = library();
  message->request = load_handle(call.request);
  if (!is_made(code, message->request)) return code;
  if (call.lifetime == message::Lifetime::plain) begin(call, message, given);
  else ManagedRequests::get().manage(message);
  return code;
}

int call_kept(const Call& call, const MessagePtr& message, const GivenArgument& given, GivenCall library) {
  const int code = library();
  if (code == MPI_SUCCESS) (*call.keep)(message, given);
  return code;
}

machine::Calls calls_of(const Call& call, const Argument& argument) {
  using machine::Calls;
  const bool computes = argument.fidelity == Fidelity::kept;
  if (call.owner == Owner::window) return computes ? Calls::accumulations : Calls::accesses;
  if (call.blocks()) return computes ? Calls::reductions : Calls::movement;
  return computes ? Calls::later_reductions : Calls::later_movement;
}

void keep_from_library(const Call& call, Argument& argument) {
  if (!machine::may_be_handed(calls_of(call, argument))) argument.stays_on_host = true;
}

int carry_out(const Call& call, Ends& ends, device::Device* device, Library library) {
  for (Argument* const one : {&ends.out, &ends.in, &ends.compared}) keep_from_library(call, *one);
  const std::int64_t copied = copy_own_block(call, ends, device);
  auto message = make_recycled<Message>(call.real, call.comm, call.lifetime);
  const auto staged = std::make_shared<Staged>(call);
  message->hook = staged;
  const GivenArgument out = staged->add(ends.out, *message, device), in = staged->add(ends.in, *message, device),
                      compared = staged->add(ends.compared, *message, device);
  const auto given_call = [&] { return library(out, in, compared); };
  device::throw_failed_wait();
  staged->count(call.function, copied, ends);
  if (!staged->any()) return given_call();
  if (call.lifetime != message::Lifetime::programs) {
    message::pack_all_of(*message);
    throw_failure(*message);
  }
  if (call.blocks()) return call_blocking(message, given_call);
  return call.request != nullptr ? call_with_request(call, message, in, given_call)
                                 : call_kept(call, message, in, given_call);
}

int call_untouched(const Ends& ends, Library library) {
  return library(as_given(ends.out), as_given(ends.in), as_given(ends.compared));
}

bool begins_in_device_memory(const Ends& ends, device::Device* device) {
  const auto is_there = [&](const Argument& argument) {
    return argument.count > 0 && argument.address != nullptr &&
           device->locate(argument.address).kind == device::MemoryKind::device;
  };
  return device != nullptr && (is_there(ends.out) || is_there(ends.in) || is_there(ends.compared));
}

int run_described(const Call& call, const Ends& given, DescribeAlone describe, device::Device* device,
                  Library library) {
  Ends ends = given;
  try {
    describe(ends);
    return carry_out(call, ends, device, library);
  } catch (const Refused& refused) {
    if (call.owner == Owner::comm) return refused.code;
    // The error handler of the file or the window has not been told. The library may take a datatype that is not
    // committed, and then the memory.
    return begins_in_device_memory(given, device) ? tell(refused.code, call.owner, call.owned_by)
                                                  : call_untouched(given, library);
  } catch (const LeftToLibrary&) {
    return call_untouched(given, library);
  } catch (...) {
    return tell(caught_error(), call.owner, call.owned_by);
  }
}

// Looks at the buffers for the wait alone.
void come_after_streams(const Ends& ends, device::Device* device) {
  if (device == nullptr || !device::calls_are_ordered()) return;
  for (const Argument* const one : {&ends.out, &ends.in, &ends.compared}) device->locate(one->address);
}

// Only a report counts calls that need no look: else they do not come here (transfer/no_gpu.hpp).
int call_unseen(const Call& call, const Ends& arguments, DescribeAlone describe, Library library) {
  if (!flag(Option::REPORT) || !active()) return call_untouched(arguments, library);
  Ends ends = arguments;
  try {
    describe(ends);
  } catch (const Refused& refused) {
    if (call.owner == Owner::comm) return refused.code;
  } catch (...) {  // the library gets the call, and tells the error
  }
  count_call(call.function, Outcome::passed_to_library, static_cast<std::uint64_t>(bytes_of(ends)));
  return call_untouched(arguments, library);
}

// False: all is the library's.
bool may_be_ours(const Call& call, const device::Device* device) {
  if (!active() || message::is_switched_off()) return false;
  if (!call.blocks() && call.request == nullptr && call.keep == nullptr) return false;
  if (device != nullptr) return true;
  if (!message::is_without_gpu()) message::look_whether_without_gpu();
  return may_be_packed_on_host(call.function) && message::may_pack_on_host();
}

// The call is carried out by messages if all members do so; else nothing.
std::optional<int> run_by_messages(const Call& call, const Ends& arguments, Describe describe) {
  if (!is_counted(call.function) || !active()) return {};
  if (call.waits()) flush_sends();
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
    return call.waits() ? tended(*code) : *code;
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
  if (call.waits()) flush_sends();
  device::Device* const device = active() ? device::current() : nullptr;
  if (message::is_switched_off()) come_after_streams(arguments, device);
  const int code = may_be_ours(call, device) ? run_described(call, arguments, describe, device, library)
                                             : call_unseen(call, arguments, describe, library);
  return call.waits() ? tended(code) : code;
}

int finish(const std::vector<MessagePtr>& calls, Owner owner, Handle owned_by) noexcept {
  message::unpack_grouped(calls);
  int code = MPI_SUCCESS;
  for (const MessagePtr& call : calls) {
    if (call->failure) code = tell(*call->failure, owner, owned_by);
  }
  return code;
}

int tell(int code, Owner owner, Handle owned_by) noexcept {
  switch (owner) {
    case Owner::comm: return raise(owned_by, code);
    case Owner::file: real_pmpi().MPI_File_call_errhandler(owned_by, code); break;
    case Owner::window: real_pmpi().MPI_Win_call_errhandler(owned_by, code); break;
  }
  return code;
}

int tell(const Error& error, Owner owner, Handle owned_by) noexcept { return tell(error_code(error), owner, owned_by); }

}  // namespace tempi::collective
