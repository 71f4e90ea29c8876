#include "pack/plan.hpp"

#include <algorithm>
#include <cstdlib>

namespace tempi::pack {
namespace {

using datatype::Box;

// Entries in units of the table where they fit 32 bits: half the memory traffic.
std::vector<std::int32_t> narrow_entries(const datatype::OffsetTable& table) {
  std::vector<std::int32_t> entries;
  entries.reserve(table.offsets.size());
  for (const std::int64_t offset : table.offsets) {
    const std::int64_t entry = offset / table.unit;
    if (entry != static_cast<std::int32_t>(entry)) return {};
    entries.push_back(static_cast<std::int32_t>(entry));
  }
  return entries;
}

std::int64_t in_units(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit; }

std::int64_t span_of(const Box& box) {
  std::int64_t span = box.block_bytes;
  for (int d = 0; d < box.n_dims; ++d) {
    const bool irregular = box.table && box.table_dim == d;
    span +=
        irregular ? box.table->highest - box.table->lowest : (box.dims[d].count - 1) * std::abs(box.dims[d].src_stride);
  }
  return span;
}

Traffic traffic_of(const datatype::Boxes& boxes) {
  constexpr std::int64_t kSector = 32, kPage = 4096;
  Traffic traffic;
  for (const Box& box : boxes) {
    const std::int64_t blocks = box.payload_bytes() / box.block_bytes;
    const bool regular = box.n_dims > 0 && !(box.table && box.table_dim == 0);
    const std::int64_t sectors = in_units(box.block_bytes, kSector) * kSector;
    const std::int64_t apart = regular ? std::max(std::abs(box.dims[0].src_stride), box.block_bytes) : sectors;
    traffic.blocks += blocks;
    traffic.is_indexed = traffic.is_indexed || box.table;
    traffic.pages += std::min(blocks * in_units(box.block_bytes, kPage), in_units(span_of(box), kPage));
    traffic.touched += box.n_dims == 0 ? box.block_bytes : blocks * std::min(apart, sectors);
  }
  return traffic;
}

template <class T>
std::unique_ptr<DeviceCopy> upload(device::Device& device, device::Context context, const std::vector<T>& values) {
  return std::make_unique<DeviceCopy>(device, context, values.data(), values.size() * sizeof(T));
}

}  // namespace

Plan::Plan(datatype::TreePtr canonical)
    : tree(std::move(canonical)), layout(datatype::layout(*tree)), traffic(traffic_of(layout.boxes)) {
  if (layout.boxes.size() != 1) return;
  pack_loop_ = host_loop_of(layout.boxes.front());
  unpack_loop_ = host_loop_of(datatype::reversed(layout.boxes.front()));
}

DeviceCopy::DeviceCopy(device::Device& device, device::Context context, const void* data, std::size_t bytes)
    : device_(device), context_(context), data_(device.allocate(bytes)) {
  try {
    device_.copy(data_, data, bytes);
    device_.finish();
  } catch (...) {
    device_.deallocate(data_);
    throw;
  }
}

DeviceCopy::~DeviceCopy() {
  try {
    const device::Scope scope(device_, context_);
    device_.deallocate(data_);
  } catch (...) {  // the driver has shut down, or the program has destroyed the context: the memory went with it
  }
}

DeviceTable Plan::table(device::Device& device, device::Context context, const Box& box) const {
  const std::lock_guard lock(mutex_);
  return locked_table(device, context, box);
}

DeviceTable Plan::locked_table(device::Device& device, device::Context context, const Box& box) const {
  if (!box.table) return {};
  UploadedTable& uploaded = tables_[{context, box.table.get()}];
  if (!uploaded.entries) {
    const std::vector<std::int32_t> narrow = narrow_entries(*box.table);
    uploaded.narrow = !narrow.empty();
    uploaded.entries = uploaded.narrow ? upload(device, context, narrow) : upload(device, context, box.table->offsets);
  }
  return {uploaded.entries->data(), uploaded.narrow};
}

Plan::LaunchesPtr Plan::find_launches(const Shape& shape) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(launches_.begin(), launches_.end(), [&](const auto& kept) { return kept.first == shape; });
  return found == launches_.end() ? nullptr : found->second;
}

Plan::LaunchesPtr Plan::keep_launches(const Shape& shape, Launches launches) const {
  auto kept = std::make_shared<const Launches>(std::move(launches));
  const std::lock_guard lock(mutex_);
  launches_.emplace_front(shape, kept);
  if (launches_.size() > kShapesKept) launches_.pop_back();
  return kept;
}

const UploadedList& Plan::list(device::Device& device, device::Context context, Direction direction,
                               std::uintptr_t alignment) const {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_tuple(context, direction, alignment);
  auto found = lists_.find(key);
  if (found == lists_.end()) {
    found = lists_.emplace(key, upload_list(device, context, direction, alignment)).first;
  }
  return found->second;
}

UploadedList Plan::upload_list(device::Device& device, device::Context context, Direction direction,
                               std::uintptr_t alignment) const {
  std::vector<KernelBox> boxes;
  for (const Box& packing : layout.boxes) {
    const Box box = direction == Direction::pack ? packing : datatype::reversed(packing);
    const std::uint32_t word = word_bytes_of(box, alignment);
    const DeviceTable table = locked_table(device, context, box);
    for (const Cut& cut : cut_for_kernel(box, word)) boxes.push_back(kernel_box(cut, word, table));
  }
  const LongList host = long_list(std::move(boxes));
  UploadedList list;
  list.depth = host.depth;
  list.grid = {static_cast<std::uint32_t>(host.tiles.size()), host.threads};
  list.boxes = upload(device, context, host.boxes);
  list.tiles = upload(device, context, host.tiles);
  return list;
}

}  // namespace tempi::pack
