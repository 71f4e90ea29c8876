#include "interpose/pack_call.hpp"

#include <chrono>
#include <climits>
#include <optional>

#include "base/counters.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "interpose/state.hpp"
#include "interpose/verify.hpp"
#include "mpi/errors.hpp"
#include "pack/host.hpp"
#include "pack/host_image.hpp"
#include "send/strategy.hpp"

namespace tempi::interpose {
namespace {

using pack::Direction;

Function function_of(const PackCall& call) {
  return call.direction == Direction::pack ? Function::MPI_Pack : Function::MPI_Unpack;
}

template <class Size, class PackFn, class UnpackFn>
int call_form(PackFn pack_fn, UnpackFn unpack_fn, PackCall& call) {
  auto position = static_cast<Size>(call.position);
  const auto count = static_cast<Size>(call.count);
  const auto packed_size = static_cast<Size>(call.packed_size);
  const int code = call.direction == Direction::pack
                       ? pack_fn(call.typed, count, call.datatype, call.packed, packed_size, &position, call.comm)
                       : unpack_fn(call.packed, packed_size, &position, call.typed, count, call.datatype, call.comm);
  call.position = position;
  return code;
}

bool fits_int(std::int64_t value) { return value >= INT_MIN && value <= INT_MAX; }

// What the library says to a call that is right but for what we want to know. Touches no buffer of the program.
int ask_library(const Real& real, const PackCall& call, Handle datatype, std::int64_t count) {
  char scratch[16] = {}, packed[16] = {};
  PackCall question = call;
  question.typed = scratch;
  question.packed = packed;
  question.datatype = datatype;
  question.count = count;
  question.packed_size = count > 0;  // with bytes left to unpack, MPICH 4.0 divides by the size of an empty type
  question.position = 0;
  return call_library(real, question);
}

// Is the communicator valid, the datatype committed, ...? The library checks that before it looks at the count. Once a
// datatype has passed, only the communicator is in doubt, and there is a quicker question about that.
int check_arguments(const Real& real, const PackCall& call, const KnownType* type) {
  if (type != nullptr && type->is_committed.load(std::memory_order_relaxed)) {
    int rank = 0;
    return real_pmpi().MPI_Comm_rank(call.comm, &rank);
  }
  const int code = ask_library(real, call, call.datatype, 0);
  if (type != nullptr && code == MPI_SUCCESS) type->is_committed.store(true, std::memory_order_relaxed);
  return code;
}

// The packed buffer is too small: the library's own complaint, from two bytes that do not fit into one.
int complain_too_small(const Real& real, const PackCall& call) {
  const int code = ask_library(real, call, type_byte(), 2);
  return code != MPI_SUCCESS ? code : raise(call.comm, MPI_ERR_TRUNCATE);
}

int pass_on(const Real& real, PackCall& call, Outcome why) {
  count_call(function_of(call), why);
  return call_library(real, call);
}

bool is_plausible(const PackCall& call) { return call.count >= 0 && call.position >= 0 && call.packed_size >= 0; }

// More bytes than an address can count: the library refuses them in its own way.
bool overflows(const PackCall& call, std::int64_t size) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(call.count, size, &bytes);
}

// Asked for several times a call: read once.
struct Switches {
  bool no_pack = flag(Option::NO_PACK), verify = flag(Option::VERIFY), report = flag(Option::REPORT);
};

const Switches& switches() {
  static const Switches all;
  return all;
}

struct Handled {
  int code;
  Outcome outcome;
};

Outcome move(const pack::Transfer& transfer, const pack::Route& route, device::Device* device) {
  if (route.touches_gpu) return pack::move_on_gpu(transfer, route, *device);
  pack::move_on_host(transfer);
  return Outcome::taken_host;
}

Outcome move_and_verify(const PackCall& call, const pack::Transfer& transfer, const pack::Route& route,
                        device::Device* device) {
  Verification verification(call, transfer, route, device);
  const Outcome outcome = move(transfer, route, device);
  verification.check();
  return outcome;
}

Handled handle(const Real& real, PackCall& call, const KnownType& type, const pack::Transfer& transfer,
               const pack::Route& route, device::Device* device) {
  if (const int code = check_arguments(real, call, &type); code != MPI_SUCCESS) return {code, Outcome::passed_invalid};
  if (transfer.bytes() > call.packed_size - call.position) {
    const int code = route.touches_gpu ? complain_too_small(real, call) : call_library(real, call);
    return {code, Outcome::passed_invalid};
  }
  Outcome outcome{};
  try {
    outcome = switches().verify ? move_and_verify(call, transfer, route, device) : move(transfer, route, device);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::verification) throw;
    if (!route.touches_gpu) throw;
    warn_once("fallback", std::string("a transfer falls back to copies in host memory: ") + error.what());
    pack::move_on_host_copies(transfer, route, *device);
    outcome = Outcome::fell_back;
  }
  call.position += transfer.bytes();
  return {MPI_SUCCESS, outcome};
}

// Two readings of the clock are a percent of a small transfer: only a report is worth them.
class Stopwatch {
 public:
  std::uint64_t nanoseconds() const {
    if (!switches().report) return 0;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = switches().report ? Clock::now() : Clock::time_point{};
};

// Made once: setting up a route costs several ns.
const pack::Route& route_without_gpu() {
  static const auto& route = *new pack::Route;
  return route;
}

int pack_or_unpack_throwing(const Real& real, PackCall& call) {
  if (!active() || switches().no_pack) return pass_on(real, call, Outcome::passed_disabled);
  if (!is_plausible(call)) return pass_on(real, call, Outcome::passed_invalid);
  const KnownType* type = find_type(call.datatype);
  if (type == nullptr) {
    if (const int code = check_arguments(real, call, nullptr); code != MPI_SUCCESS) {
      count_call(function_of(call), Outcome::passed_invalid);
      return code;
    }
    type = analyse_type(call.datatype).type;
  }
  if (type == nullptr) return pass_on(real, call, Outcome::passed_unsupported);
  if (overflows(call, type->size())) return pass_on(real, call, Outcome::passed_invalid);

  const pack::Transfer transfer{
      *type->plan, {call.count, type->extent}, call.direction, call.typed, call.packed_here()};
  if (transfer.bytes() == 0) return pass_on(real, call, Outcome::passed_faster);
  device::Device* device = device::current();
  std::optional<pack::Route> found;
  if (device != nullptr) found = pack::find_route(transfer, *device);
  const pack::Route& route = found ? *found : route_without_gpu();
  const bool may_be_librarys = !route.touches_gpu && !type->is_moved_wrongly;
  if (may_be_librarys && !send::host_packer_is_faster(transfer)) return pass_on(real, call, Outcome::passed_faster);

  const trace::Span span(call.direction == Direction::pack ? "MPI_Pack" : "MPI_Unpack", {.bytes = transfer.bytes()});
  const Stopwatch stopwatch;
  const Handled handled = handle(real, call, *type, transfer, route, device);
  count_call(function_of(call), handled.outcome, static_cast<std::uint64_t>(transfer.bytes()), stopwatch.nanoseconds());
  return handled.code;
}

}  // namespace

int call_library(const Real& real, PackCall& call) {
  if (call.large && real.MPI_Pack_c) return call_form<Count>(real.MPI_Pack_c, real.MPI_Unpack_c, call);
  if (!fits_int(call.count) || !fits_int(call.packed_size) || !fits_int(call.position)) {
    return raise(call.comm, MPI_ERR_COUNT);
  }
  return call_form<int>(real.MPI_Pack, real.MPI_Unpack, call);
}

int pack_or_unpack(const Real& real, PackCall& call) noexcept {
  try {
    return pack_or_unpack_throwing(real, call);
  } catch (const Error& error) {
    count_call(function_of(call), Outcome::failed);
    return raise(call.comm, error);
  } catch (const std::exception& error) {
    count_call(function_of(call), Outcome::failed);
    return raise(call.comm, Error(ErrorKind::no_memory, error.what()));
  }
}

}  // namespace tempi::interpose
