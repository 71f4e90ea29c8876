#include "packing/pack_call.hpp"

#include <chrono>
#include <climits>
#include <optional>
#include <string>

#include "base/counters.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "call/call_forms.hpp"
#include "device/stream_order.hpp"
#include "host/packer.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "pack/host_image.hpp"
#include "packing/in_stream.hpp"
#include "packing/verify.hpp"

namespace tempi::packing {
namespace {

using pack::Direction;

Function function_of(const PackCall& call) {
  return call.direction == Direction::pack ? Function::MPI_Pack : Function::MPI_Unpack;
}

template <class Size, class PackFn, class UnpackFn>
int call_pack(PackFn pack_fn, UnpackFn unpack_fn, PackCall& call) {
  auto position = static_cast<Size>(call.position);
  const auto count = static_cast<Size>(call.count);
  const auto packed_size = static_cast<Size>(call.packed_size);
  const int code = call.direction == Direction::pack
                       ? pack_fn(call.typed, count, call.datatype, call.packed, packed_size, &position, call.comm)
                       : unpack_fn(call.packed, packed_size, &position, call.typed, count, call.datatype, call.comm);
  call.position = position;
  return code;
}

bool is_predefined(Handle comm) { return key_of(comm) == key_of(comm_world()) || key_of(comm) == key_of(comm_self()); }

// The library's refusal of the arguments (invalid communicator, uncommitted datatype, ...). A datatype that has passed
// once is not checked again, and MPI_Comm_rank checks a communicator faster: a refusal leaves the rank unset.
std::optional<int> check_arguments(const PackCall& call, const KnownType* type) {
  if (type != nullptr && type->is_committed.load(std::memory_order_relaxed)) {
    if (is_predefined(call.comm)) return {};
    int rank = MPI_UNDEFINED;
    const int code = real_pmpi().MPI_Comm_rank(call.comm, &rank);
    return rank == MPI_UNDEFINED ? std::optional(code) : std::nullopt;
  }
  const std::optional<int> refusal = message::find_refusal(call.datatype, call.comm);
  if (type != nullptr && !refusal) type->is_committed.store(true, std::memory_order_relaxed);
  return refusal;
}

// The packed buffer is too small: the library's own complaint, from two bytes that do not fit into one. Touches no
// buffer of the program.
int complain_too_small(const Real& real, const PackCall& call) {
  char scratch[2] = {}, packed[2] = {};
  PackCall question = call;
  question.typed = scratch;
  question.packed = packed;
  question.datatype = type_byte();
  question.count = 2;
  question.packed_size = 1;
  question.position = 0;
  const int code = call_library(real, question);
  return code != MPI_SUCCESS || question.position == 0 ? code : raise(call.comm, MPI_ERR_TRUNCATE);
}

int pass_on(const Real& real, PackCall& call, Outcome why, std::int64_t bytes = 0) {
  count_call(function_of(call), why, static_cast<std::uint64_t>(bytes));
  return call_library(real, call);
}

bool is_plausible(const PackCall& call) {
  return call.packed != nullptr && call.count >= 0 && call.position >= 0 && call.packed_size >= 0;
}

// More bytes than an address can count: the library refuses them in its own way.
bool overflows(const PackCall& call, std::int64_t size) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(call.count, size, &bytes);
}

pack::Packer packer_named(const std::string& name) {
  if (name == "ours") return pack::Packer::ours;
  return name == "library" ? pack::Packer::librarys : pack::Packer::undecided;
}

// Used several times a call: read once.
struct Switches {
  bool no_pack = flag(Option::NO_PACK), verify = flag(Option::VERIFY), report = flag(Option::REPORT);
  pack::Packer host_packer = packer_named(text(Option::HOST_PACK));
  bool all_off() const { return !no_pack && !verify && !report; }
};

const Switches& switches() {
  static const Switches all;
  return all;
}

struct Handled {
  int code;
  Outcome outcome;
};

Outcome move(const pack::BoxMove& box_move, device::Device* device) {
  if (box_move.touches_gpu()) return pack::move_on_gpu(box_move, *device);
  pack::move_on_host(box_move);
  return Outcome::taken_host;
}

Outcome move_and_verify(const PackCall& call, const pack::BoxMove& box_move, device::Device* device) {
  Verification verification(call, box_move, device);
  const Outcome outcome = move(box_move, device);
  verification.check();
  return outcome;
}

// In a thread whose calls come after streams of the program.
Outcome move_in_order(const PackCall& call, const KnownType& type, const pack::BoxMove& box_move,
                      device::Device& device) {
  if (switches().verify) {
    device::finish_earlier(device, pack::worker_of(box_move));
    return move_and_verify(call, box_move, &device);
  }
  return is_queued_in_stream(box_move, type.prepared, device) ? Outcome::queued : move(box_move, &device);
}

Outcome move_by_ours(const PackCall& call, const KnownType& type, const pack::BoxMove& box_move,
                     device::Device* device) {
  if (device != nullptr && device::calls_are_ordered()) return move_in_order(call, type, box_move, *device);
  return switches().verify ? move_and_verify(call, box_move, device) : move(box_move, device);
}

Handled handle(const Real& real, PackCall& call, const KnownType& type, const pack::BoxMove& box_move,
               device::Device* device) {
  if (const auto refusal = check_arguments(call, &type)) return {*refusal, Outcome::passed_invalid};
  if (box_move.bytes() > call.room()) {
    const int code = box_move.touches_gpu() ? complain_too_small(real, call) : call_library(real, call);
    return {code, Outcome::passed_invalid};
  }
  Outcome outcome{};
  try {
    outcome = move_by_ours(call, type, box_move, device);
  } catch (...) {
    const Error error = caught_error();
    const bool is_final = error.kind() == ErrorKind::verification || error.kind() == ErrorKind::stream;
    if (is_final || !box_move.touches_gpu()) throw;
    device::finish_earlier(*device, pack::worker_of(box_move));
    warn_fallback("data is copied to host memory and moved by the CPU", error.what());
    pack::move_on_host_copies(box_move, *device);
    outcome = Outcome::fell_back;
  }
  call.position += box_move.bytes();
  return {MPI_SUCCESS, outcome};
}

// Two readings of the clock take a percent of a small move: they are made only for a report.
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

[[gnu::noinline]] int handle_and_count(const Real& real, PackCall& call, const KnownType& type,
                                       const pack::BoxMove& box_move, device::Device* device) {
  const trace::Span span(call.direction == Direction::pack ? "MPI_Pack" : "MPI_Unpack", {.bytes = box_move.bytes()});
  const Stopwatch stopwatch;
  const Handled handled = handle(real, call, type, box_move, device);
  count_call(function_of(call), handled.outcome, static_cast<std::uint64_t>(box_move.bytes()), stopwatch.nanoseconds());
  return handled.code;
}

pack::BoxMove box_move_of(const PackCall& call, const KnownType& type) {
  const datatype::Layout& layout = type.plan->layout;
  return pack::box_move_of(call.direction, *type.prepared, call.count,
                           pack::laid_out_end(layout, call.typed, type.extent),
                           pack::dense_end(layout, call.packed_here()));
}

// Not inlined: stack space for a move costs the callers a nanosecond.
[[gnu::noinline]] int handle_on_host(const Real& real, PackCall& call, const KnownType& type) {
  return handle_and_count(real, call, type, box_move_of(call, type), nullptr);
}

// The shortest path, for the commonest call: one element in a single loop, without checks, timing or trace.
bool has_moved_at_once(const Switches& wanted, PackCall& call, const KnownType& type) {
  const std::optional<host::HostLoop>& loop = type.plan->mapping(call.direction).host_loop();
  if (call.count != 1 || !loop || !wanted.all_off() || trace::is_on.load(std::memory_order_relaxed)) return false;
  if (!type.is_committed.load(std::memory_order_relaxed) || !is_predefined(call.comm)) return false;
  if (type.size() > call.room()) return false;
  const auto [source, destination] = pack::ends_of(call.direction, call.typed, call.packed_here());
  loop->run(source, destination);
  call.position += type.size();
  count_call(function_of(call), Outcome::taken_host, static_cast<std::uint64_t>(type.size()));
  return true;
}

// True for calls that are ours whoever is faster: datatypes that the library moves wrongly, and absolute addresses,
// which MPICH 4.0's MPI_Pack refuses.
bool only_ours(const PackCall& call, const KnownType& type) { return type.is_moved_wrongly || call.typed == nullptr; }

// `located` is null without a device.
int pack_on_host(const Real& real, PackCall& call, const KnownType& type, const pack::BoxMove* located,
                 device::Device* device) {
  const Switches& wanted = switches();
  const auto move_by = [&](pack::Packer packer) -> int {
    if (packer == pack::Packer::librarys)
      return pass_on(real, call, Outcome::passed_to_library, call.count * type.size());
    if (has_moved_at_once(wanted, call, type)) return MPI_SUCCESS;
    return located != nullptr ? handle_and_count(real, call, type, *located, device) : handle_on_host(real, call, type);
  };
  if (only_ours(call, type) || wanted.verify) return move_by(pack::Packer::ours);
  if (wanted.host_packer != pack::Packer::undecided) return move_by(wanted.host_packer);
  pack::Contest& contest = type.prepared->contest(call.direction, call.count);
  const pack::Packer packer = contest.next();
  pack::Round round(contest, packer);
  const int code = move_by(packer);
  round.finish(code == MPI_SUCCESS);
  return code;
}

[[gnu::noinline]] int pack_beside_gpu(const Real& real, PackCall& call, const KnownType& type, device::Device& device) {
  const device::OrderedByMarks ordered;
  pack::BoxMove box_move = box_move_of(call, type);
  pack::locate(box_move, device);
  if (box_move.touches_gpu()) return handle_and_count(real, call, type, box_move, &device);
  device::finish_earlier(device, box_move.source.place.first);
  device::finish_earlier(device, box_move.destination.place.first);
  return pack_on_host(real, call, type, &box_move, &device);
}

int pack_or_unpack_throwing(const Real& real, PackCall& call) {
  if (!active()) return pass_on(real, call, Outcome::passed_disabled);
  if (switches().no_pack) {
    device::finish_earlier(device::current());
    return pass_on(real, call, Outcome::passed_disabled);
  }
  if (!is_plausible(call)) return pass_on(real, call, Outcome::passed_invalid);
  const KnownType* type = find_type(call.datatype);
  if (type == nullptr) {
    if (const auto refusal = check_arguments(call, nullptr)) {
      count_call(function_of(call), Outcome::passed_invalid);
      return *refusal;
    }
    type = analyse_type(call.datatype).type;
  }
  if (type == nullptr) {
    device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
    return pass_on(real, call, Outcome::passed_unsupported);
  }
  if (overflows(call, type->size())) return pass_on(real, call, Outcome::passed_invalid);
  if (call.count == 0 || type->size() == 0) return pass_on(real, call, Outcome::passed_to_library);
  device::Device* device = device::current();
  return device == nullptr ? pack_on_host(real, call, *type, nullptr, nullptr)
                           : pack_beside_gpu(real, call, *type, *device);
}

}  // namespace

int call_library(const Real& real, PackCall& call) {
  if (call.large && real.MPI_Pack_c) return call_pack<Count>(real.MPI_Pack_c, real.MPI_Unpack_c, call);
  if (!message::fits_int(call.count) || !message::fits_int(call.packed_size) || !message::fits_int(call.position)) {
    return raise(call.comm, MPI_ERR_COUNT);
  }
  return call_pack<int>(real.MPI_Pack, real.MPI_Unpack, call);
}

int pack_or_unpack(const Real& real, PackCall& call) noexcept {
  try {
    return pack_or_unpack_throwing(real, call);
  } catch (...) {
    count_call(function_of(call), Outcome::failed);
    return raise(call.comm, caught_error());
  }
}

}  // namespace tempi::packing
