#include "pack/box_move.hpp"

namespace tempi::pack {

using datatype::Box;
using datatype::Boxes;

BoxMove BoxMove::with_dense_at(void* address) const {
  BoxMove moved = *this;
  moved.dense().address = address;
  return moved;
}

BoxMove BoxMove::with_laid_out_at(void* address) const {
  BoxMove moved = *this;
  moved.laid_out().address = address;
  return moved;
}

Boxes boxes_of(const BoxMove& box_move) {
  Boxes boxes;
  if (box_move.count == 0) return boxes;
  const Mapping& mapping = *box_move.mapping;
  boxes.reserve(mapping.written().size());
  for (const Box& box : mapping.written()) {
    boxes.push_back(
        datatype::repeated(mapping.oriented(box), box_move.count, box_move.source.extent, box_move.destination.extent));
  }
  return boxes;
}

std::vector<Part> parts_of(const BoxMove& box_move) {
  const End& end = box_move.laid_out();
  if (end.place.is_split()) return *end.place.parts;
  return {{end.place.first,
           datatype::repeated(box_move.mapping->written(), box_move.count, end.extent, box_move.dense().extent)}};
}

}  // namespace tempi::pack
