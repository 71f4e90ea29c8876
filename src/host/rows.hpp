// The inner loops of the host packer: rows of equal blocks.
//
// Glossary
//   row      the blocks of the innermost dim
//   Rows     the two innermost dims of a nest; the irregular dim, if it is among them, is the inner one
#pragma once

#include "datatype/box.hpp"

namespace tempi::host {

struct Rows {
  std::int64_t block_bytes = 0;
  datatype::Dim inner{1, 0, 0};
  datatype::Dim outer{1, 0, 0};
  const datatype::OffsetTable* table = nullptr;  // of the inner dim, in place of its stride on `table_side`
  datatype::Side table_side = datatype::Side::src;
  bool streaming = false;  // the destination exceeds the caches: write around them if that is faster
};

using RowsFn = void (*)(const char* src, char* dst, const Rows& rows);

// The loop for this block size and these strides. It may be used for Rows that differ in their counts only.
RowsFn choose_rows(const Rows& rows);

// The same, for rows that need not be written around the caches.
RowsFn choose_cached(const Rows& rows);

// One block of any size.
void copy_block(char* dst, const char* src, std::int64_t bytes);

}  // namespace tempi::host
