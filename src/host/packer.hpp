// The host packer moves a list of boxes on the CPU. It is used for host buffers, and it is the reference for the
// kernels.
#pragma once

#include <optional>

#include "datatype/box.hpp"
#include "host/rows.hpp"

namespace tempi::host {

// Moves every byte of `boxes` from `src` to `dst` (both readable/writable by the CPU). Blocks of one call never overlap
// on the destination side; overlapping sources are fine.
void run_on_host(const datatype::Boxes& boxes, const void* src, void* dst);

// A box that is one loop, ready to run.
struct HostLoop {
  Rows rows;
  RowsFn fn;
  std::int64_t src_offset, dst_offset;

  void run(const void* src, void* dst) const {
    fn(static_cast<const char*>(src) + src_offset, static_cast<char*>(dst) + dst_offset, rows);
  }
};

// None for boxes that need more than one loop: more dims than a loop has, several passes, or stores around the caches.
std::optional<HostLoop> host_loop_of(const datatype::Box& box);

}  // namespace tempi::host
