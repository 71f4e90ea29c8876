#include "collective/own_block.hpp"

#include <algorithm>
#include <optional>

#include "base/kept.hpp"
#include "base/page.hpp"
#include "collective/blocks.hpp"
#include "datatype/compose.hpp"
#include "host/packer.hpp"
#include "pack/buffer_layout.hpp"
#include "transfer/strategy.hpp"

namespace tempi::collective {
namespace {

using pack::BufferLayout;

constexpr std::size_t kMostKept = 64;
constexpr std::size_t kMostBoxes = 16;  // of a regular layout

// Both ends are regular: it is small, and composed in microseconds.
struct HostComposition {
  BufferLayout from, to;
  std::optional<datatype::Boxes> boxes;  // none where they do not compose
};

std::shared_ptr<const HostComposition> composed_layout(const BufferLayout& from, const BufferLayout& to) {
  static auto& kept = *new Kept<std::shared_ptr<const HostComposition>, kMostKept>;
  return kept.get([&](const auto& one) { return one->from == from && one->to == to; },
                  [&] {
                    return std::make_shared<const HostComposition>(
                        HostComposition{from, to, datatype::composed(from.boxes(), to.boxes())});
                  });
}

bool is_regular(const Block& block) {
  const datatype::Boxes& boxes = block.type->plan->layout.boxes;
  const auto has_table = [](const datatype::Box& box) { return box.table != nullptr; };
  return boxes.size() <= kMostBoxes && std::none_of(boxes.begin(), boxes.end(), has_table);
}

BufferLayout layout_of(const Block& block) { return {block.type->prepared, block.count, block.type->extent}; }

// A null buffer, or MPI_IN_PLACE where it may not be: libraries say so.
bool is_refused(const pack::End& end) {
  return reinterpret_cast<std::uintptr_t>(end.at(end.layout->true_lower_bound)) < kPageBytes;
}

bool is_on_gpu(const pack::End& end, const Block& block, device::Device* device) {
  return device != nullptr && pack::locate(end, block.count, *device).touches_gpu();
}

}  // namespace

std::int64_t copy_own_block(const Call& call, Ends& ends, device::Device* device) {
  if (call.function != Function::MPI_Alltoallw || !message::may_pack_on_host()) return 0;
  if (ends.out.is_in_place() || !ends.out.is_sound() || !ends.in.is_sound()) return 0;
  const Group group(call.comm);
  if (group.is_inter) return 0;
  const auto out = Blocks(ends.out, call.comm).at(group.rank), in = Blocks(ends.in, call.comm).at(group.rank);
  if (!out || !in || out->bytes() != in->bytes() || !is_regular(*out) || !is_regular(*in)) return 0;
  if (is_contiguous(*out) && is_contiguous(*in)) return 0;
  const pack::End from = end_of(ends.out, *out), to = end_of(ends.in, *in);
  if (is_refused(from) || is_refused(to) || is_on_gpu(from, *out, device) || is_on_gpu(to, *in, device)) return 0;
  const auto found = composed_layout(layout_of(*out), layout_of(*in));
  if (!found->boxes) return 0;
  host::run_on_host(*found->boxes, from.address, to.address);
  ends.out.own_block = ends.in.own_block = group.rank;
  return out->bytes();
}

}  // namespace tempi::collective
