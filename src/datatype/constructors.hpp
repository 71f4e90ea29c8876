// The datatype constructors of MPI as functions from plain values to trees, as the standard defines their type maps.
// The argument lists are those of MPI_Type_get_contents.
#pragma once

#include "datatype/decode.hpp"
#include "datatype/tree.hpp"

namespace tempi::datatype {

// The old datatype of a constructor: its tree, and its extent (the distance of its copies).
struct Element {
  TreePtr tree;
  std::int64_t extent;  // bytes
};

using Values = std::vector<std::int64_t>;

TreePtr make_contiguous(std::int64_t count, const Element& element);
TreePtr make_hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes, const Element& element);
TreePtr make_indexed(const Values& counts, const Element& element);        // count, blocklengths, displacements
TreePtr make_indexed_block(const Values& counts, const Element& element);  // count, blocklength, displacements
TreePtr make_hindexed(const Values& counts, const Values& displacement_bytes, const Element& element);
TreePtr make_hindexed_block(std::int64_t blocklength, const Values& displacement_bytes, const Element& element);
TreePtr make_struct(const Values& counts, const Values& displacement_bytes, const std::vector<Element>& elements);
TreePtr make_subarray(const Values& counts, Order order, const Element& element);  // ndims, sizes, subsizes, starts
TreePtr make_darray(const Contents& contents, const Element& element);  // size, rank, ndims, gsizes, dargs, psizes

}  // namespace tempi::datatype
