// A box move moves boxes from one end, the source, to another end, the destination. Packing, unpacking and direct
// messages (from one layout to another) are box moves.
//
// Glossary
//   end       memory that a move reads or writes: its address, its layout and its location
//   laid out  an end with the layout of a datatype; its address is the program's buffer argument
//   dense     an end of consecutive bytes, in type-map order
//   part      the boxes of an end in memory of one kind and one GPU, if the end has several kinds of memory
//
// Invariants
//   The source is only read. No two boxes write the same byte of the destination.
//   A mapping and the two extents relate source and destination. The location of one end does not imply the location of
//   the other end. Therefore, each end is located separately.
//
// Example: packing 3 elements of Strided{2, 16, Dense{8}}, 32 bytes apart
//   is a mapping of one box {2 x 8 bytes, stride 16 to 8}
//   from a laid-out end of extent 32 to a dense end of extent 16.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "pack/cache.hpp"

namespace tempi::pack {

// Memory of different kinds is never closer than this: drivers reserve address space in larger pieces.
inline constexpr std::int64_t kKindGranularity = 1 << 21;

struct Part {
  device::Location location;  // of the first box
  datatype::Boxes boxes;      // of all elements, oriented as in the layout
};

// The location of an end.
struct Place {
  device::Location first;                               // of the first byte
  std::shared_ptr<const std::vector<Part>> parts = {};  // only if it lies in several places
  bool is_split() const { return parts != nullptr; }
  bool touches_gpu() const;
  const device::Location& gpu() const;  // the first GPU memory; without any, `first`
};

struct End {
  void* address;
  std::int64_t extent;             // bytes from one element to the next
  const datatype::Layout* layout;  // null: dense
  Place place = {};                // host memory until located
  bool is_dense() const { return layout == nullptr; }
  // The address may be null (MPI_BOTTOM).
  void* at(std::int64_t bytes) const {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes));
  }
};

using datatype::Span;
Span span_of(const End& end, std::int64_t count);  // relative to the address of the end
Span span_of(const datatype::Boxes& boxes);        // the span of the boxes' sources

struct BoxMove {
  const Mapping* mapping;
  LaunchCache* cache;  // of the mapping
  std::int64_t count;
  std::int64_t element_bytes;
  End source, destination;

  std::int64_t bytes() const { return count * element_bytes; }
  bool touches_gpu() const { return source.place.touches_gpu() || destination.place.touches_gpu(); }

  // Ends of a move between a laid-out end and a dense one.
  const End& dense() const { return source.is_dense() ? source : destination; }
  const End& laid_out() const { return source.is_dense() ? destination : source; }
  End& dense() { return source.is_dense() ? source : destination; }
  End& laid_out() { return source.is_dense() ? destination : source; }
  BoxMove with_dense_at(void* address) const;
  BoxMove with_laid_out_at(void* address) const;
};

// The ends of packing and unpacking. Their location counts as host memory until locate() finds it.
inline End laid_out_end(const datatype::Layout& layout, const void* address, std::int64_t extent) {
  return {const_cast<void*>(address), extent, &layout};
}
inline End dense_end(const datatype::Layout& layout, const void* address) {
  return {const_cast<void*>(address), layout.size, nullptr};
}
inline BoxMove box_move_of(Direction direction, Prepared& prepared, std::int64_t count, End laid_out, End dense) {
  const auto [source, destination] = ends_of(direction, &laid_out, &dense);
  const std::int64_t bytes = prepared.plan.layout.size;
  return {
      &prepared.plan.mapping(direction), &prepared.launches, count, bytes, std::move(*source), std::move(*destination)};
}

// The boxes of all elements, from source to destination.
datatype::Boxes boxes_of(const BoxMove& box_move);

// The parts of the laid-out end: one if it lies in one place.
std::vector<Part> parts_of(const BoxMove& box_move);

// The location of `count` elements of a laid-out end. Queries the device for each distinct region.
Place locate(const End& end, std::int64_t count, device::Device& device);

// Locates both ends of a move between a laid-out end and a dense one.
void locate(BoxMove& box_move, device::Device& device);

// The laid-out end cut until each box lies in one allocation. A part has all boxes of one kind of memory and one
// GPU.
std::vector<Part> find_parts(const End& end, std::int64_t count, device::Device& device);

// True if the bytes at these distances from `address` lie in the allocation of `location`; for pageable memory: if they
// are so near that they have one kind (kKindGranularity).
bool lies_in_one_place(const device::Location& location, const void* address, Span span);

// Runs `move` with the dense end at `elsewhere`. If the dense end is the source, copy(dst, src)
// copies its bytes there before the move. If it is the destination, copy(dst, src) fetches its
// bytes from there after the move.
template <class Copy, class Move>
void move_by_way_of(void* elsewhere, const BoxMove& box_move, const Copy& copy, const Move& move) {
  if (box_move.source.is_dense()) copy(elsewhere, box_move.source.address);
  move(box_move.with_dense_at(elsewhere));
  if (box_move.destination.is_dense()) copy(box_move.destination.address, elsewhere);
}

}  // namespace tempi::pack
