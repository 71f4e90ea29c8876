// Reductions of two buffers that a GPU reaches.
#pragma once

#include "device/device.hpp"
#include "pack/reduce_params.hpp"

namespace tempi::pack {

enum class Element : std::uint8_t {
#define TEMPI_ELEMENT(name, type) name,
#include "pack/elements.def"
};

std::uint32_t bytes_of(Element element);

// inout[i] = in[i] operation inout[i] for n elements, queued in the scope. Both are aligned to the element. Floating
// point numbers have sums, products, least and greatest ones.
void reduce(const device::Scope& here, Element element, Operation operation, const void* in, void* inout,
            std::uint64_t n);

}  // namespace tempi::pack
