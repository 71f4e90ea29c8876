// Moves boxes on a GPU: one launch for a datatype, however many boxes it has.
#pragma once

#include "pack/launch.hpp"
#include "pack/plan.hpp"

namespace tempi::pack {

// Boxes, with the count dim already in them, oriented from `src` to `dst`. Queued in the entered context.
void queue_boxes(device::Device& device, device::Context context, const Plan& plan, const datatype::Boxes& boxes,
                 const void* src, void* dst);

// A whole datatype. Queued in the entered context; prepared at the first call of its kind.
void queue_plan(device::Device& device, device::Context context, const Plan& plan, Repeat repeat, Direction direction,
                const void* src, void* dst);

// A whole datatype from (or to) one place to another, without its launch: boxes with absolute addresses.
void add_kernel_boxes(device::Device& device, device::Context context, const Plan& plan, Repeat repeat,
                      Direction direction, const void* src, void* dst, std::vector<KernelBox>& boxes);

// The boxes of `repeat` elements, oriented from source to destination. Of one: for at least one element.
datatype::Box oriented_box(const datatype::Box& box, const Plan& plan, Repeat repeat, Direction direction);
datatype::Boxes oriented_boxes(const Plan& plan, Repeat repeat, Direction direction);

// A box that is one dense block travels by the copy engine. So do elements that are, one right after the other.
bool is_plain_copy(const datatype::Boxes& boxes);
bool is_plain_copy(const Plan& plan, Repeat repeat);

}  // namespace tempi::pack
