#include "pack/cache.hpp"

#include <algorithm>

namespace tempi::pack {
namespace {

using datatype::Box;
using device::Scope;

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

template <class T>
std::unique_ptr<DeviceCopy> upload(const Scope& here, const std::vector<T>& values) {
  return std::make_unique<DeviceCopy>(here, values.data(), values.size() * sizeof(T));
}

}  // namespace

DeviceCopy::DeviceCopy(const Scope& here, const void* data, std::size_t bytes)
    : device_(here.device()), context_(here.context()), data_(here.allocate(bytes)) {
  try {
    const Scope own(device_, context_);  // in a stream of the program the upload would wait for all that it holds
    own.copy(data_, data, bytes);
    own.finish();
  } catch (...) {
    here.deallocate(data_);
    throw;
  }
}

DeviceCopy::~DeviceCopy() {
  try {
    Scope(device_, context_).deallocate(data_);
  } catch (...) {  // the driver has shut down, or the program has destroyed the context: the memory went with it
  }
}

DeviceTable LaunchCache::table(const Scope& here, const Box& box) {
  const std::lock_guard lock(mutex_);
  return locked_table(here, box);
}

DeviceTable LaunchCache::locked_table(const Scope& here, const Box& box) {
  if (!box.table) return {};
  UploadedTable& uploaded = tables_[{here.context(), box.table.get()}];
  if (!uploaded.entries) {
    forget_ended(here);
    const std::vector<std::int32_t> narrow = narrow_entries(*box.table);
    uploaded.narrow = !narrow.empty();
    uploaded.entries = uploaded.narrow ? upload(here, narrow) : upload(here, box.table->offsets);
  }
  return {uploaded.entries->data(), uploaded.narrow};
}

void LaunchCache::forget_ended(const Scope& here) {
  const auto has_ended = [&](const auto& uploaded) {
    const device::Context context = std::get<0>(uploaded.first);
    return context != here.context() && here.device().has_ended(context);
  };
  std::erase_if(tables_, has_ended);
  std::erase_if(lists_, has_ended);
}

LaunchCache::LaunchesPtr LaunchCache::find(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(launches_.begin(), launches_.end(), [&](const auto& kept) { return kept.first == shape; });
  return found == launches_.end() ? nullptr : found->second;
}

LaunchCache::LaunchesPtr LaunchCache::keep(const Shape& shape, Launches launches) {
  auto kept = std::make_shared<const Launches>(std::move(launches));
  const std::lock_guard lock(mutex_);
  launches_.emplace_front(shape, kept);
  if (launches_.size() > kShapesKept) launches_.pop_back();
  return kept;
}

const UploadedList& LaunchCache::list(const Scope& here, const Mapping& mapping, std::uintptr_t alignment) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_tuple(here.context(), &mapping, alignment);
  auto found = lists_.find(key);
  if (found == lists_.end()) {
    forget_ended(here);
    found = lists_.emplace(key, upload_list(here, mapping, alignment)).first;
  }
  return found->second;
}

UploadedList LaunchCache::upload_list(const Scope& here, const Mapping& mapping, std::uintptr_t alignment) {
  std::vector<KernelBox> boxes;
  for (const Box& written : mapping.written()) {
    const Box box = mapping.oriented(written);
    const std::uint32_t word = word_bytes_of(box, alignment);
    const DeviceTable table = locked_table(here, box);
    for (const Cut& cut : cut_for_kernel(box, word)) boxes.push_back(kernel_box(cut, word, table));
  }
  const LongList host = long_list(std::move(boxes));
  UploadedList list;
  list.depth = host.depth;
  list.grid = {static_cast<std::uint32_t>(host.tiles.size()), host.threads};
  list.boxes = upload(here, host.boxes);
  list.tiles = upload(here, host.tiles);
  return list;
}

}  // namespace tempi::pack
