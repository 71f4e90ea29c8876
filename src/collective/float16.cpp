#include "collective/float16.hpp"

#include <array>
#include <atomic>

namespace tempi::collective {
namespace {

using pack::Operation;
using pack::ScalarType;

// 0: none.
struct Type {
  ScalarType scalar;
  std::atomic<Handle> handle{0};
};
struct OperationHandle {
  Operation operation;
  std::atomic<Handle> handle{0};
};

constinit std::array<Type, 2> types{{{ScalarType::f16}, {ScalarType::bf16}}};
constinit std::array<OperationHandle, 4> operations{
    {{Operation::sum}, {Operation::product}, {Operation::minimum}, {Operation::maximum}}};

template <class Rows>
auto* find(Rows& rows, Handle handle) noexcept {
  for (auto& one : rows) {
    const Handle its = one.handle.load(std::memory_order_relaxed);
    if (its != 0 && key_of(its) == key_of(handle)) return &one;
  }
  return static_cast<typename Rows::value_type*>(nullptr);
}

}  // namespace

void note_float16_type(ScalarType scalar, Handle type) noexcept {
  for (Type& one : types) {
    if (one.scalar == scalar) one.handle = type;
  }
}

void note_float16_operation(Operation operation, Handle handle) noexcept {
  for (OperationHandle& one : operations) {
    if (one.operation == operation) one.handle = handle;
  }
}

std::optional<Reduced> reduced_float16(Handle type, Handle operation) noexcept {
  const OperationHandle* const by = find(operations, operation);
  const Type* const of = by != nullptr ? find(types, type) : nullptr;
  if (of == nullptr) return {};
  return Reduced{of->scalar, by->operation};
}

}  // namespace tempi::collective
