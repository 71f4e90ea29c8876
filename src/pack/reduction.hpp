// Reductions of buffers in memory that a GPU can access.
#pragma once

#include <optional>

#include "device/device.hpp"
#include "pack/reduction_params.hpp"

namespace tempi::pack {

enum class ScalarType : std::uint8_t {
#define TEMPI_SCALAR(name, type) name,
#include "pack/scalars.def"
};

std::uint32_t bytes_of(ScalarType type);
bool has_operation(ScalarType type, Operation operation);

// inout[i] = inout[i] operation in[i] for `count` scalars, queued in the scope. Both buffers are aligned to a scalar.
void launch_reduction(const device::Scope& here, ScalarType type, Operation operation, const void* in, void* inout,
                      std::uint64_t count);

// The same on the CPU, at once.
void reduce_on_cpu(ScalarType type, Operation operation, const void* in, void* inout, std::uint64_t count);

// All buffers are aligned to a scalar. The functions below set `is_wide` and `n_tiles`.
struct TypedReduction {
  ScalarType type;
  GroupReduction of;
};

// The reduction is queued in the scope.
void launch_reduction(const device::Scope& here, TypedReduction reduction);

// The result is for the kernel of an exchange (exchange.hpp). Nothing: one block would take longer than a kernel of the
// reduction alone.
std::optional<TypedReduction> prepared_for_one_block(TypedReduction reduction);

}  // namespace tempi::pack
