#include "collective/reduction.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/log.hpp"
#include "base/trace.hpp"
#include "message/side.hpp"
#include "mpi/active.hpp"
#include "pack/reduction.hpp"
#include "pack/transfer.hpp"

namespace tempi::collective {
namespace {

using device::Location;
using device::MemoryKind;
using pack::Operation;
using pack::ScalarType;

template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? ScalarType::f32 : ScalarType::f64;
  constexpr bool kIsSigned = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return kIsSigned ? ScalarType::i8 : ScalarType::u8;
    case 2: return kIsSigned ? ScalarType::i16 : ScalarType::u16;
    case 4: return kIsSigned ? ScalarType::i32 : ScalarType::u32;
    default: return kIsSigned ? ScalarType::i64 : ScalarType::u64;
  }
}

struct ReducedType {
  Handle handle;
  ScalarType type;
};

struct ReducedOperation {
  Handle handle;
  Operation operation;
};

std::span<const ReducedType> reduced_types() {
  static const ReducedType all[] = {
#define TEMPI_REDUCED_TYPE(constant, variable, type) {TEMPI_PREDEFINED(constant, variable), scalar_type_of<type>()},
#define TEMPI_REDUCED_OPERATION(constant, variable, operation)
#include "collective/reduced.def"
  };
  return all;
}

std::span<const ReducedOperation> reduced_operations() {
  static const ReducedOperation all[] = {
#define TEMPI_REDUCED_TYPE(constant, variable, type)
#define TEMPI_REDUCED_OPERATION(constant, variable, operation) \
  {TEMPI_PREDEFINED(constant, variable), Operation::operation},
#include "collective/reduced.def"
  };
  return all;
}

template <class Reduced>
const Reduced* find(std::span<const Reduced> all, Handle handle) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Reduced& one) { return key_of(one.handle) == key_of(handle); });
  return found != all.end() ? &*found : nullptr;
}

bool has_operation(ScalarType type, Operation operation) {
  const bool is_floating = type == ScalarType::f32 || type == ScalarType::f64;
  return !is_floating || operation <= Operation::maximum;
}

struct Task {
  ScalarType type;
  Operation operation;
  Count count;

  std::int64_t bytes() const { return count * pack::bytes_of(type); }
};

std::optional<Task> task_of(const Argument& inout, Handle operation) {
  const ReducedType* const type = find(reduced_types(), inout.type);
  const ReducedOperation* const known = find(reduced_operations(), operation);
  if (inout.count <= 0 || type == nullptr || known == nullptr) return {};
  if (!has_operation(type->type, known->operation)) return {};
  return Task{type->type, known->operation, inout.count};
}

bool is_whole(const Location& location, const void* address, const Task& task) {
  return reinterpret_cast<std::uintptr_t>(address) % pack::bytes_of(task.type) == 0 &&
         pack::lies_in_one_place(location, address, {0, task.bytes()});
}

// False: nothing has been queued.
bool is_launched(const device::Scope& here, const Task& task, const void* in, void* inout) {
  try {
    pack::launch_reduction(here, task.type, task.operation, in, inout, static_cast<std::uint64_t>(task.count));
    return true;
  } catch (...) {
    warn_fallback("a reduction is done in host memory", caught_error().what());
    return false;
  }
}

}  // namespace

std::optional<int> reduce_on_gpu(const Call& call, const Argument& in, const Argument& inout, Handle operation) noexcept
    try {
  device::Device* const device = active() && !message::is_switched_off() ? device::current() : nullptr;
  if (device == nullptr) return {};
  const std::optional<Task> task = task_of(inout, operation);
  const Location to = task ? device->locate(inout.address) : Location{};
  if (!to.on_gpu() || !is_whole(to, inout.address, *task)) return {};
  const Location from = device->locate(in.address);
  const bool is_beside = from.kind == MemoryKind::pinned || (from.on_gpu() && from.context == to.context);
  if (!is_beside || !is_whole(from, in.address, *task)) return {};
  const device::Scope here(*device, to.context);
  const bool is_done = trace::traced("reduce", [&] {
    if (!is_launched(here, *task, in.address, const_cast<void*>(inout.address))) return false;
    here.finish();
    return true;
  });
  if (!is_done) return {};
  count_call(call.function, Outcome::taken_device, static_cast<std::uint64_t>(task->bytes()));
  return MPI_SUCCESS;
} catch (...) {
  return tell(caught_error(), call.owner, call.owned_by);
}

}  // namespace tempi::collective
