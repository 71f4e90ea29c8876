#include "window/access.hpp"

#include <cstring>

#include "base/counters.hpp"
#include "collective/blocks.hpp"
#include "device/stream_order.hpp"
#include "mpi/own_comm.hpp"
#include "pack/host_image.hpp"
#include "window/locks.hpp"
#include "window/reduction.hpp"

namespace tempi::window {
namespace {

using collective::Argument;
using collective::Call;
using collective::Ends;
using collective::Owner;
using message::Strategy;

// One access to a GPU part.
struct Access {
  Window& window;
  const Part& part;
  const Ends& origin;
  const Target& target;
  Handle operation;
  bool has_request;

  device::Device& device() const { return window.device(); }
};

const KnownType& resolved(Handle type) try {
  return collective::resolve(type, comm_null());
} catch (const collective::LeftToLibrary&) {
  throw Error(ErrorKind::unsupported, "a datatype that cannot be analysed, in an access to a window over GPU memory");
}

std::int64_t bytes_of(Count count, const KnownType& type) {
  std::int64_t bytes = 0, reach = 0;
  if (count < 0 || __builtin_mul_overflow(count, type.size(), &bytes) ||
      __builtin_mul_overflow(count, type.extent, &reach))
    throw Error(ErrorKind::range, "a negative count, or one that is too large");
  return bytes;
}

// Bytes from the first byte of the window.
struct Reach {
  std::int64_t first;       // of the displacement
  std::int64_t begin, end;  // of the bytes that the elements cover
};

// Nothing: they do not fit 64 bits.
std::optional<Reach> reach_of(const Target& target, const KnownType& type, std::int64_t unit) {
  const pack::Span span = pack::span_of(pack::laid_out_end(type.plan->layout, nullptr, type.extent), target.count);
  Reach reach{};
  const bool is_beyond = __builtin_mul_overflow(target.displacement, unit, &reach.first) ||
                         __builtin_add_overflow(reach.first, span.begin, &reach.begin) ||
                         __builtin_add_overflow(reach.first, span.end, &reach.end);
  return is_beyond ? std::nullopt : std::optional(reach);
}

Elements buffer_at(const Argument& argument, const Access& of) {
  const KnownType& type = resolved(argument.type);
  bytes_of(argument.count, type);
  Elements elements = elements_at(argument.address, argument.count, type, of.device());
  device::throw_failed_wait();
  return elements;
}

// The bytes of the part that the elements lie in. Throws Error (range) where they do not lie in the part.
Elements target_of(const Access& of) {
  const KnownType& type = resolved(of.target.type);
  const std::int64_t bytes = bytes_of(of.target.count, type);
  const Part& part = of.part;
  const std::optional<Reach> reach = bytes > 0 ? reach_of(of.target, type, part.unit) : Reach{};
  const bool is_beyond =
      bytes > 0 && (!reach || reach->begin < part.displacement || reach->end - part.displacement > part.bytes);
  if (is_beyond) throw Error(ErrorKind::range, "the window of rank " + std::to_string(of.target.rank) + " is shorter");
  pack::End at = pack::laid_out_end(type.plan->layout, nullptr, type.extent);
  at.address = reinterpret_cast<void*>(part.address + static_cast<std::uintptr_t>(reach->first - part.displacement));
  at.place = {part.location};
  return {type, of.target.count, std::move(at)};
}

void check_room(std::int64_t bytes, std::int64_t room) {
  if (bytes > room) throw Error(ErrorKind::truncation, "more data than the buffer at the other end has room for");
}

void check_same(const Elements& one, const Elements& other) {
  if (one.bytes() != other.bytes())
    throw Error(ErrorKind::type, "an accumulate call has as many elements at the origin as at the target");
}

// MPI_Put and MPI_Get are complete when a call completes the accesses of the window. Calls with a request are complete
// on return, and return their own failure.
void transfer(const Elements& from, const Elements& to, const Access& of) {
  check_room(from.bytes(), to.bytes());
  if (of.has_request) return move(from, to, of.device());
  if (from.bytes() == 0) return;
  std::optional<KernelMove> by_kernel = kernel_move(from, to, of.device());
  if (!by_kernel) return move_packed(from, to, of.device());
  by_kernel->mapping = of.part.mapping;
  of.window.moves.add(std::move(*by_kernel));
}

std::int64_t put(const Access& of) {
  const Elements from = buffer_at(of.origin.in, of), to = target_of(of);
  transfer(from, to, of);
  return from.bytes();
}

std::int64_t get(const Access& of) {
  const Elements from = target_of(of), to = buffer_at(of.origin.in, of);
  transfer(from, to, of);
  return from.bytes();
}

void change(const Elements& origin, const Elements& target, const Access& of) {
  if (key_of(of.operation) == key_of(op_no_op()) || target.bytes() == 0) return;
  if (key_of(of.operation) == key_of(op_replace())) return move(origin, target, of.device());
  reduce_into(origin, target, element_of(of.target.type), of.operation, of.device());
}

void check_elements(Handle type, const Access& of) {
  const Handle element = element_of(of.target.type);
  if (resolved(element_of(type)).size() != resolved(element).size())
    throw Error(ErrorKind::type, "an accumulate call needs the same predefined datatype at the origin and the target");
  check_operation(element, of.operation);
}

// `fetched`: where the elements go that were there before; null: nowhere.
std::int64_t accumulate(const Access& of, const Argument& sent, const Argument* fetched) {
  const bool reads = key_of(of.operation) != key_of(op_no_op());
  const Elements target = target_of(of);
  if (reads) check_elements(sent.type, of);
  const Elements origin = reads ? buffer_at(sent, of) : target;
  check_same(origin, target);
  const std::optional<Elements> result = fetched != nullptr ? std::optional(buffer_at(*fetched, of)) : std::nullopt;
  if (result) check_room(target.bytes(), result->bytes());
  const Accumulating alone(of.window, of.target.rank);
  if (result) {
    const auto before = gathered(target, Strategy::device, of.device());
    change(origin, target, of);
    scatter(before->box_move().dense(), target.bytes(), *result, of.device());
  } else {
    change(origin, target, of);
  }
  return target.bytes();
}

std::vector<std::byte> value_of(const Elements& of, device::Device& device) {
  const auto packed = gathered(of, Strategy::host, device);
  const auto* const bytes = static_cast<const std::byte*>(packed->data());
  return {bytes, bytes + packed->bytes()};
}

std::int64_t compare_and_swap(const Access& of) {
  const Elements target = target_of(of), origin = buffer_at(of.origin.out, of),
                 compared = buffer_at(of.origin.compared, of), result = buffer_at(of.origin.in, of);
  const std::vector<std::byte> wanted = value_of(compared, of.device());
  const Accumulating alone(of.window, of.target.rank);
  const std::vector<std::byte> found = value_of(target, of.device());
  if (found == wanted) move(origin, target, of.device());
  pack::End before = pack::dense_end(target.type.plan->layout, found.data());
  scatter(before, result.bytes(), result, of.device());
  return target.bytes();
}

std::int64_t carry_out(Function function, const Access& of) {
  switch (function) {
    case Function::MPI_Put:
    case Function::MPI_Rput: return put(of);
    case Function::MPI_Get:
    case Function::MPI_Rget: return get(of);
    case Function::MPI_Accumulate:
    case Function::MPI_Raccumulate: return accumulate(of, of.origin.in, nullptr);
    case Function::MPI_Compare_and_swap: return compare_and_swap(of);
    default: return accumulate(of, of.origin.out, &of.origin.in);
  }
}

void check_epoch(Window& window, int rank) {
  const Member& member = window.member(rank);
  const bool is_open = window.is_fenced || window.has_locked_all || member.is_started || member.held != Held::nothing;
  if (!is_open) throw Error(ErrorKind::epoch, "an access to rank " + std::to_string(rank) + " outside an epoch");
}

// A request of the library that is complete.
void store_complete(void* request) {
  real_pmpi().MPI_Irecv(nullptr, 0, type_byte(), MPI_PROC_NULL, 0, own_comm(), request);
}

// The part in GPU memory that the target's elements lie in. Nothing: the library accesses them.
std::optional<Part> part_of(Window& window, const Target& target) {
  if (!window.is_dynamic()) return window.member(target.rank).part;
  try {
    const KnownType& type = collective::resolve(target.type, comm_null());
    if (target.count <= 0 || bytes_of(target.count, type) == 0) return {};
    const std::optional<Reach> reach = reach_of(target, type, 1);
    if (!reach) return {};
    return window.attached_part(target.rank, static_cast<std::uint64_t>(reach->begin),
                                static_cast<std::uint64_t>(reach->end));
  } catch (const collective::LeftToLibrary&) {
    return {};
  }
}

std::int64_t access_part(const Call& call, const Access& access) {
  check_epoch(access.window, access.target.rank);
  if (access.target.rank == access.window.rank()) access.window.finish_earlier_work();
  return carry_out(call.function, access);
}

// Nothing: the library carries it out.
std::optional<int> access_window(const Call& call, Window& window, const Ends& origin, const Target& target,
                                 Handle operation) {
  if (target.rank != MPI_PROC_NULL) {
    if (!window.is_member(target.rank))
      throw Error(ErrorKind::rank, "the window has no rank " + std::to_string(target.rank));
    const std::optional<Part> part = part_of(window, target);
    if (!part) return {};
    const std::int64_t bytes = access_part(call, {window, *part, origin, target, operation, call.request != nullptr});
    count_call(call.function, Outcome::windowed, static_cast<std::uint64_t>(bytes));
  }
  if (call.request != nullptr) store_complete(call.request);
  return MPI_SUCCESS;
}

}  // namespace

std::optional<int> access(const Call& call, const Ends& origin, const Target& target, Handle operation) noexcept {
  const WindowPtr window = find(call.owned_by);
  if (!window) return {};
  message::flush_sends();
  try {
    const std::optional<int> code = access_window(call, *window, origin, target, operation);
    return code ? std::optional(message::tended(*code)) : std::nullopt;
  } catch (const collective::Refused& refused) {
    return message::tended(collective::tell(refused.code, Owner::window, call.owned_by));
  } catch (...) {
    return message::tended(collective::tell(caught_error(), Owner::window, call.owned_by));
  }
}

}  // namespace tempi::window
