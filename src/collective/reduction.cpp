#include "collective/reduction.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <type_traits>

#include "base/trace.hpp"
#include "message/side.hpp"
#include "mpi/active.hpp"
#include "mpi/real.hpp"
#include "pack/reduce.hpp"

namespace tempi::collective {
namespace {

using device::Location;
using device::MemoryKind;
using pack::Element;
using pack::Operation;

enum class Class : std::uint8_t { c_integer, integer, floating };

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Element::f32 : Element::f64;
  constexpr bool kIsSigned = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return kIsSigned ? Element::i8 : Element::u8;
    case 2: return kIsSigned ? Element::i16 : Element::u16;
    case 4: return kIsSigned ? Element::i32 : Element::u32;
    default: return kIsSigned ? Element::i64 : Element::u64;
  }
}

struct ReducedType {
  Handle handle;
  Element element;
  Class kind;
};

struct KnownOperation {
  Handle handle;
  Operation operation;
};

std::span<const ReducedType> reduced_types() {
  static const ReducedType all[] = {
#define TEMPI_REDUCED(constant, variable, type, kind) \
  {TEMPI_PREDEFINED(constant, variable), element_of<type>(), Class::kind},
#define TEMPI_REDUCES(constant, variable, operation)
#include "collective/reduced.def"
  };
  return all;
}

std::span<const KnownOperation> known_operations() {
  static const KnownOperation all[] = {
#define TEMPI_REDUCED(constant, variable, type, kind)
#define TEMPI_REDUCES(constant, variable, operation) {TEMPI_PREDEFINED(constant, variable), Operation::operation},
#include "collective/reduced.def"
  };
  return all;
}

template <class Row>
const Row* find(std::span<const Row> rows, Handle handle) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return key_of(row.handle) == key_of(handle); });
  return found != rows.end() ? &*found : nullptr;
}

bool takes(Class kind, Operation operation) {
  if (kind == Class::c_integer) return true;
  return operation < (kind == Class::integer ? Operation::logical_and : Operation::bit_and);
}

// Fortran's default kinds are the library's choice.
bool is_as_long(Handle type, std::uint32_t bytes) {
  int size = 0;
  return real_pmpi().MPI_Type_size(type, &size) == MPI_SUCCESS && static_cast<std::uint32_t>(size) == bytes;
}

bool is_aligned(const Argument& argument, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(argument.address) % bytes == 0;
}

// The result lies on the GPU; the other buffer, too, or where every GPU reaches it.
bool is_reached(const Location& in, const Location& inout) {
  if (!inout.on_gpu()) return false;
  return in.kind == MemoryKind::pinned || (in.on_gpu() && in.context == inout.context);
}

struct Kernel {
  Element element;
  Operation operation;
  std::uint64_t bytes;
};

std::optional<Kernel> find_kernel(const Argument& in, const Argument& inout, Handle operation) {
  const ReducedType* const type = find(reduced_types(), inout.type);
  const KnownOperation* const known = find(known_operations(), operation);
  if (inout.count <= 0 || type == nullptr || known == nullptr || !takes(type->kind, known->operation)) return {};
  const auto bytes = pack::bytes_of(type->element);
  if (!is_as_long(inout.type, bytes) || !is_aligned(in, bytes) || !is_aligned(inout, bytes)) return {};
  return Kernel{type->element, known->operation, static_cast<std::uint64_t>(inout.count) * bytes};
}

}  // namespace

std::optional<int> reduce_on_gpu(const Call& call, const Argument& in, const Argument& inout, Handle operation) noexcept
    try {
  device::Device* const device = active() && !message::is_switched_off() ? device::current() : nullptr;
  if (device == nullptr) return {};
  const std::optional<Kernel> kernel = find_kernel(in, inout, operation);
  if (!kernel) return {};
  const Location from = device->locate(in.address), to = device->locate(inout.address);
  if (!is_reached(from, to)) return {};
  const device::Scope here(*device, to.context);
  trace::traced("reduce", [&] {
    pack::reduce(here, kernel->element, kernel->operation, in.address, const_cast<void*>(inout.address),
                 static_cast<std::uint64_t>(inout.count));
    here.finish();
  });
  count_call(call.function, Outcome::taken_device, kernel->bytes);
  return MPI_SUCCESS;
} catch (...) {
  return tell(caught_error(), call.owner, call.owned_by);
}

}  // namespace tempi::collective
