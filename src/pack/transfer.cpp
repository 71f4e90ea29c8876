#include "pack/transfer.hpp"

namespace tempi::pack {

using datatype::Box;
using datatype::Boxes;

Transfer Transfer::with_dense_at(void* address) const {
  Transfer moved = *this;
  moved.dense().address = address;
  return moved;
}

Transfer Transfer::with_laid_out_at(void* address) const {
  Transfer moved = *this;
  moved.laid_out().address = address;
  return moved;
}

Boxes boxes_of(const Transfer& transfer) {
  Boxes boxes;
  if (transfer.count == 0) return boxes;
  const Mapping& mapping = *transfer.mapping;
  boxes.reserve(mapping.written().size());
  for (const Box& box : mapping.written()) {
    boxes.push_back(
        datatype::repeated(mapping.oriented(box), transfer.count, transfer.source.extent, transfer.destination.extent));
  }
  return boxes;
}

std::vector<Part> parts_of(const Transfer& transfer) {
  const End& end = transfer.laid_out();
  if (end.place.is_split()) return *end.place.parts;
  return {{end.place.first,
           datatype::repeated(transfer.mapping->written(), transfer.count, end.extent, transfer.dense().extent)}};
}

}  // namespace tempi::pack
