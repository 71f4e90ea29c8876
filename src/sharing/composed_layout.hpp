// Composed layouts: the boxes that move data from one layout to another. They are cached for repeated pairs of layouts.
// The layouts of receives have numbers, by which other processes identify them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "datatype/compose.hpp"
#include "datatype/layout.hpp"
#include "pack/box_move.hpp"
#include "pack/buffer_layout.hpp"
#include "segment/segment.hpp"

namespace tempi::message {

using pack::BufferLayout;

// Identifies a layout of a receive. The process of this rank never uses the number for another layout.
struct LayoutName {
  int rank;
  std::uint64_t number;
  bool operator==(const LayoutName&) const = default;
};

// A layout of this process, in the form that other processes read.
struct PublishedLayout {
  std::uint64_t number;
  std::vector<ipc::PublishedBox> boxes;  // empty if too many or irregular: only this process can use them
  std::vector<datatype::Span> spans;     // of the boxes
};
using PublishedLayoutPtr = std::shared_ptr<const PublishedLayout>;
// If a buffer lies in several allocations, its boxes are cut, so that each box lies in one allocation.
PublishedLayoutPtr published_layout(const BufferLayout& layout, const pack::End& end, device::Device& device);

datatype::Boxes boxes_of(const ipc::Segment& there, const ipc::Slot& slot);

// An allocation of the receiver, and its mapping in this process.
struct Moved {
  std::uint64_t begin, end;  // the allocation, in the receiver's process
  std::uint64_t here;        // the address of its first byte in this process
  bool operator==(const Moved&) const = default;
};
// A receiver's buffer. If it lies in several allocations, `allocations` has all of them, otherwise none.
struct MovedBuffer {
  std::uint64_t address = 0;  // in the receiver's process
  std::vector<Moved> allocations{};
  bool operator==(const MovedBuffer&) const = default;
};

// From one layout to another. The bytes of the receiver after the sender's last byte do not change.
struct ComposedLayout {
  ComposedLayout(BufferLayout sent, LayoutName received, MovedBuffer its_place, datatype::Boxes filled);

  const BufferLayout from;
  const LayoutName to;
  const MovedBuffer place;
  const datatype::Span span;   // of the receiver's bytes that are written, relative to its buffer
  const datatype::Layout far;  // of the receiver's end
  const std::optional<datatype::Boxes> boxes;
  std::optional<pack::Mapping> mapping{};  // none where they do not compose
  pack::LaunchCache launches{};
};
using ComposedLayoutPtr = std::shared_ptr<ComposedLayout>;

// The composition of two layouts. received_boxes() is called only if the composition is not cached.
ComposedLayoutPtr composed_layout(const BufferLayout& from, const LayoutName& to, const MovedBuffer& place,
                                  FunctionRef<datatype::Boxes()> received_boxes);

}  // namespace tempi::message
