// A plan: the analysed structure of datatypes. It never changes, and all datatypes with this structure share it.
// Launches and uploads are kept in cache.hpp.
//
// Glossary
//   element   one instance of the datatype; a move moves several, `extent` bytes apart
//   mapping   the boxes of one element, from a source to a destination
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "datatype/layout.hpp"
#include "datatype/tree.hpp"
#include "host/packer.hpp"
#include "pack/kernel_params.hpp"

namespace tempi::pack {

// The MPI operation of a move. Only `ends_of` and Plan::mapping derive source and destination from it.
enum class Direction : std::uint8_t { pack, unpack };

// A value for each end; `ends_of` orders the values of the datatype's end and the dense end.
template <class T>
struct Ends {
  T source, destination;
  bool operator==(const Ends&) const = default;
};
template <class T>
Ends<T> ends_of(Direction direction, T of_datatype, T dense) {
  return direction == Direction::pack ? Ends<T>{of_datatype, dense} : Ends<T>{dense, of_datatype};
}

// `count` elements of a datatype, `extent` bytes apart.
struct Repeat {
  std::int64_t count;
  std::int64_t extent;
};

// A list of boxes from source to destination. Its boxes are used as they are, or with source and destination exchanged.
// The list must outlive the mapping. (A mapping of memory of another process is something else: sharing/imports.hpp.)
class alignas(64) Mapping {  // aligned, so that an array of mappings is indexed by a shift
 public:
  enum class Sense : std::uint8_t { written, exchanged };

  Mapping(const datatype::Boxes& boxes, Sense sense);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Boxes of the list, or other boxes in the same orientation, turned so that they go from source to destination.
  datatype::Box oriented(const datatype::Box& box) const;
  datatype::Boxes oriented(datatype::Boxes boxes) const;

  const datatype::Boxes& written() const { return boxes_; }

  // A list longer than kFewBoxes goes to the device once.
  bool is_long() const { return boxes_.size() > static_cast<std::size_t>(kFewBoxes); }

  // The loop of one element on the CPU, if there is only one. It is kept, because finding it takes as long as a move.
  const std::optional<host::HostLoop>& host_loop() const { return host_loop_; }

 private:
  const datatype::Boxes& boxes_;
  const Sense sense_;
  std::optional<host::HostLoop> host_loop_;
};

// Memory features of one element: its dense runs, the bytes of the 32-byte sectors of the side with the datatype, the 4
// KiB pages, and whether offsets of its runs come from a table.
struct Traffic {
  std::int64_t blocks = 0, touched = 0, pages = 0;
  bool is_indexed = false;
};

class Plan {
 public:
  explicit Plan(datatype::TreePtr canonical);

  const datatype::TreePtr tree;
  const datatype::Layout layout;
  const Traffic traffic;

  const Mapping& mapping(Direction direction) const { return mappings_[static_cast<std::size_t>(direction)]; }

 private:
  const std::array<Mapping, 2> mappings_;  // by direction
};

// True for one dense block, and for consecutive dense elements: the copy engine moves them.
bool is_plain_copy(const datatype::Boxes& boxes);
bool is_plain_copy(const Plan& plan, Repeat repeat);

}  // namespace tempi::pack
