// A case as an MPI program would write it.
#pragma once

#include <mpi.h>

#include "common/case.hpp"

namespace tempi::bench {

inline MPI_Datatype element_type(const Case& c) {
  if (c.element == "byte") return MPI_BYTE;
  return c.element == "float" ? MPI_FLOAT : MPI_DOUBLE;
}

inline MPI_Datatype subarray_type(const Case& c) {
  int sizes[3], subsizes[3], starts[3];
  for (int d = 0; d < 3; ++d) {
    sizes[d] = static_cast<int>(c.sizes[d]);
    subsizes[d] = static_cast<int>(c.subsizes[d]);
    starts[d] = static_cast<int>(c.starts[d]);
  }
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, element_type(c), &type);
  return type;
}

inline MPI_Datatype vector_type(const Case& c, bool in_bytes) {
  const std::int64_t element = element_bytes(c);
  const int count = static_cast<int>(c.n_blocks), length = static_cast<int>(c.block / element);
  MPI_Datatype type;
  if (in_bytes || c.stride % element != 0) MPI_Type_create_hvector(count, length, c.stride, element_type(c), &type);
  else MPI_Type_vector(count, length, static_cast<int>(c.stride / element), element_type(c), &type);
  return type;
}

inline MPI_Datatype struct_of(const Case& c, MPI_Datatype member) {
  std::vector<int> lengths(c.fields, 1);
  std::vector<MPI_Aint> displacements(c.fields);
  for (std::int64_t f = 0; f < c.fields; ++f) displacements[f] = f * c.field_stride;
  std::vector<MPI_Datatype> members(c.fields, member);
  MPI_Datatype type;
  MPI_Type_create_struct(static_cast<int>(c.fields), lengths.data(), displacements.data(), members.data(), &type);
  MPI_Type_free(&member);
  return type;
}

inline MPI_Datatype irregular_type(const Case& c, const std::vector<Block>& blocks) {
  const std::int64_t element = element_bytes(c);
  const int n = static_cast<int>(blocks.size());
  std::vector<int> lengths(n), displacements(n);
  std::vector<MPI_Aint> offsets(n);
  for (int i = 0; i < n; ++i) {
    lengths[i] = static_cast<int>(blocks[i].length / element);
    displacements[i] = static_cast<int>(blocks[i].offset / element);
    offsets[i] = blocks[i].offset;
  }
  MPI_Datatype type;
  if (c.kind == "indexed_block")
    MPI_Type_create_indexed_block(n, static_cast<int>(c.block / element), displacements.data(), element_type(c), &type);
  else if (c.kind == "indexed") MPI_Type_indexed(n, lengths.data(), displacements.data(), element_type(c), &type);
  else MPI_Type_create_hindexed(n, lengths.data(), offsets.data(), element_type(c), &type);
  return type;
}

// `count` of `type` at the buffer argument is the case.
struct Message {
  MPI_Datatype type;
  int count;
};

inline Message make_message(const Case& c, const std::vector<Block>& blocks) {
  Message message{MPI_DATATYPE_NULL, 1};
  if (c.irregular()) message.type = irregular_type(c, blocks);
  else if (c.kind == "subarray") message.type = subarray_type(c);
  else if (c.kind == "struct_subarray") message.type = struct_of(c, subarray_type(c));
  else if (c.kind == "struct") message.type = struct_of(c, vector_type(c, false));
  else message = {vector_type(c, c.kind == "hvector"), static_cast<int>(c.fields)};
  MPI_Type_commit(&message.type);
  return message;
}

}  // namespace tempi::bench
