#include "collective/reduced.hpp"

#include <algorithm>
#include <span>

#include "collective/float16.hpp"
#include "mpi/real.hpp"
#include "pack/box_move.hpp"

namespace tempi::collective {
namespace {

using pack::Operation;
using pack::ScalarType;

enum class Kind : std::uint8_t {
#define TEMPI_REDUCED_TYPE(constant, variable, scalar, kind)
#define TEMPI_REDUCED_KIND(kind, first, last) kind,
#define TEMPI_REDUCED_OPERATION(constant, variable, operation)
#include "collective/reduced.def"
};

struct KindOperations {
  Operation first, last;
};

constexpr KindOperations kOperations[] = {
#define TEMPI_REDUCED_TYPE(constant, variable, scalar, kind)
#define TEMPI_REDUCED_KIND(kind, first, last) {Operation::first, Operation::last},
#define TEMPI_REDUCED_OPERATION(constant, variable, operation)
#include "collective/reduced.def"
};

struct ReducedType {
  Handle handle;
  ScalarType type;
  Kind kind;
};

struct ReducedOperation {
  Handle handle;
  Operation operation;
};

std::span<const ReducedType> reduced_types() {
  static const ReducedType all[] = {
#define TEMPI_REDUCED_TYPE(constant, variable, scalar, kind) \
  {TEMPI_PREDEFINED(constant, variable), ScalarType::scalar, Kind::kind},
#define TEMPI_REDUCED_KIND(kind, first, last)
#define TEMPI_REDUCED_OPERATION(constant, variable, operation)
#include "collective/reduced.def"
  };
  return all;
}

std::span<const ReducedOperation> reduced_operations() {
  static const ReducedOperation all[] = {
#define TEMPI_REDUCED_TYPE(constant, variable, scalar, kind)
#define TEMPI_REDUCED_KIND(kind, first, last)
#define TEMPI_REDUCED_OPERATION(constant, variable, operation) \
  {TEMPI_PREDEFINED(constant, variable), Operation::operation},
#include "collective/reduced.def"
  };
  return all;
}

// Null: it is none of them. A handle of 0 stands for a constant that the library lacks.
template <class Row>
const Row* find(std::span<const Row> all, Handle handle) {
  if (handle == 0) return nullptr;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Row& one) { return key_of(one.handle) == key_of(handle); });
  return found != all.end() ? &*found : nullptr;
}

bool fits(const ReducedType& type, const ReducedOperation& by) {
  const KindOperations& its = kOperations[static_cast<std::size_t>(type.kind)];
  return by.operation >= its.first && by.operation <= its.last;
}

// MPI_DOUBLE_INT has 12 bytes of data in 16.
std::int64_t extent_of(Handle type) {
  Aint lower_bound = 0, extent = 0;
  real_pmpi().MPI_Type_get_extent(type, &lower_bound, &extent);
  return extent;
}

}  // namespace

std::optional<Reduced> reduced_by_kernel(Handle type, Handle operation) {
  const ReducedType* const known = find(reduced_types(), type);
  const ReducedOperation* const by = find(reduced_operations(), operation);
  if (known == nullptr || by == nullptr) return reduced_float16(type, operation);
  if (!fits(*known, *by)) return {};
  if (extent_of(type) != static_cast<std::int64_t>(pack::bytes_of(known->type))) return {};
  return Reduced{known->type, by->operation};
}

bool is_misfit(Handle type, Handle operation) {
  const ReducedType* const known = find(reduced_types(), type);
  const ReducedOperation* const by = find(reduced_operations(), operation);
  return by == nullptr || (known != nullptr && !fits(*known, *by));
}

bool is_whole(const device::Location& location, const void* address, const Reduced& reduced, Count count) {
  return reinterpret_cast<std::uintptr_t>(address) % pack::bytes_of(reduced.type) == 0 &&
         pack::lies_in_one_place(location, address, {0, reduced.bytes_of(count)});
}

}  // namespace tempi::collective
