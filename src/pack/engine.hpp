// Pack and unpack, wherever the two buffers are. One mechanism: a direction decides which side is source.
//
// Glossary
//   typed side    the buffer that the datatype describes; its address is the program's buffer argument
//   packed side   dense bytes in type-map order
//   part          the boxes of a transfer that lie in one place, where the typed side lies in several
#pragma once

#include "base/counters.hpp"
#include "device/device.hpp"
#include "pack/mover.hpp"

namespace tempi::pack {

struct Transfer {
  const Plan& plan;
  Repeat repeat;
  Direction direction;
  void* typed;   // only read when packing
  void* packed;  // only read when unpacking
  std::int64_t bytes() const { return repeat.count * plan.layout.size; }
};

// Where the two sides of a transfer are.
struct Part {
  device::Location location;
  datatype::Boxes boxes;  // written for packing, of all elements
};
struct Route {
  device::Location typed;  // of the first byte
  device::Location packed;
  std::vector<Part> parts = {};  // only where the typed side lies in several places
  bool touches_gpu = false;      // false: both sides are memory of the host
  bool is_split() const { return !parts.empty(); }
  const device::Location& typed_on_gpu() const;  // the first GPU memory of the typed side; without any, `typed`
};

// The bytes of the typed side, from the first to one past the last, gaps included; relative to its address.
struct Span {
  std::int64_t begin, end;
};
Span typed_span(const Transfer& transfer);
Span span_of(const datatype::Boxes& boxes);  // of the source side

// True: bytes at these distances from `typed` lie in the allocation of `location`; of pageable memory: they are
// near enough to be of one kind.
bool lies_in_one_place(const device::Location& location, const void* typed, Span span);

// The typed side cut until each box lies in one allocation. A part has all boxes of one kind of memory and one GPU; its
// location is that of the first.
std::vector<Part> find_parts(const Transfer& transfer, device::Device& device);

// All parts of the typed side, one where it lies in one place; and a part's boxes from source to destination.
std::vector<Part> all_parts(const Transfer& transfer, const Route& route);
datatype::Boxes boxes_of(const Transfer& transfer, const Part& part);

// Asks the device for each distinct region. Without a device everything is host memory: Route{}.
Route find_route(const Transfer& transfer, device::Device& device);

// The same where the packed side is ours.
Route find_route(const Transfer& transfer, const device::Location& packed, device::Device& device);

// Does the transfer; complete on return. Throws Error.
Outcome move_on_gpu(const Transfer& transfer, const Route& route, device::Device& device);
void move_on_host(const Transfer& transfer);

}  // namespace tempi::pack
