#include "pack/merged.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

#include "pack/cache.hpp"
#include "pack/kernels.hpp"
#include "pack/mover.hpp"
#include "pack/tuning.hpp"

namespace tempi::pack {
namespace {

using device::Scope;

// A member, by the addresses of its ends. The owner is kept: its address is not used again meanwhile.
struct Key {
  std::shared_ptr<const void> owner;
  const void *source, *destination;
  bool operator==(const Key&) const = default;
};
using Keys = std::vector<Key>;

struct List {
  device::Context context;
  Keys keys;
  Launch launch{};
  std::unique_ptr<DeviceCopy> boxes{}, tiles{};  // none at the first time
};
using ListPtr = std::shared_ptr<List>;

Keys keys_of(const std::vector<Member>& members) {
  Keys keys;
  keys.reserve(members.size());
  for (const auto& [transfer, owner] : members)
    keys.push_back({owner, transfer.source.address, transfer.destination.address});
  return keys;
}

struct Placed {
  std::vector<KernelBox> boxes;
  std::vector<TileOfList> near, far;  // far: over a link
};

void append_tiles(std::vector<TileOfList>& tiles, const KernelBox& box, std::uint32_t index, Depth depth) {
  const std::uint32_t n = tiles_of(box, depth, tuning()[Knob::threads]);
  for (std::uint32_t i = 0; i < n; ++i) tiles.push_back({index, i});
}

// In proportion: each part of the list has the same share of far tiles.
std::vector<TileOfList> mixed(const Placed& placed) {
  const auto &near = placed.near, &far = placed.far;
  std::vector<TileOfList> all;
  all.reserve(near.size() + far.size());
  std::size_t n = 0, f = 0;
  while (n < near.size() || f < far.size()) {
    const bool takes_far = n == near.size() || (f < far.size() && f * near.size() <= n * far.size());
    all.push_back(takes_far ? far[f++] : near[n++]);
  }
  return all;
}

void make(const Scope& here, const std::vector<Member>& members, List& list) {
  std::vector<KernelBox> boxes;
  std::vector<bool> is_far;
  for (const Member& member : members) {
    add_kernel_boxes(here, member.transfer, boxes);
    is_far.resize(boxes.size(), member.transfer.destination.is_elsewhere);
  }
  const auto [kernel, depth] = kernel_of_list(boxes);
  Placed placed;
  for (std::uint32_t b = 0; b < boxes.size(); ++b)
    append_tiles(is_far[b] ? placed.far : placed.near, boxes[b], b, depth);
  const std::vector<TileOfList> tiles = mixed(placed);
  auto boxes_there = std::make_unique<DeviceCopy>(here, boxes.data(), boxes.size() * sizeof(KernelBox));
  auto tiles_there = std::make_unique<DeviceCopy>(here, tiles.data(), tiles.size() * sizeof(TileOfList));
  ManyBoxes params{};
  params.boxes = static_cast<const KernelBox*>(boxes_there->data());
  params.tiles = static_cast<const TileOfList*>(tiles_there->data());
  params.tiles_per_element = static_cast<std::uint32_t>(tiles.size());
  list.launch = {kernel, {params.tiles_per_element, tuning()[Knob::threads]}, 0, 0, params};
  list.boxes = std::move(boxes_there);
  list.tiles = std::move(tiles_there);
}

// The sets of transfers that came last.
class Lists {
 public:
  // Null: the set is new.
  ListPtr find_or_remember(const Scope& here, const std::vector<Member>& members) {
    Keys keys = keys_of(members);
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const ListPtr& list) { return list->context == here.context() && list->keys == keys; };
    const auto known = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (known == kept_.end()) {
      kept_.push_front(std::make_shared<List>(List{here.context(), std::move(keys)}));
      if (kept_.size() > kKept) kept_.pop_back();
      return nullptr;
    }
    std::rotate(kept_.begin(), known, known + 1);
    List& list = *kept_.front();
    if (!list.boxes) make(here, members, list);
    return kept_.front();
  }

 private:
  static constexpr std::size_t kKept = 64;

  std::mutex mutex_;
  std::deque<ListPtr> kept_;  // the last used one first
};

Lists& lists() {
  static auto& all = *new Lists;
  return all;
}

}  // namespace

std::shared_ptr<const void> queue_merged(const Scope& here, const std::vector<Member>& members) {
  ListPtr list = members.size() > 1 ? lists().find_or_remember(here, members) : nullptr;
  if (list) {
    list->launch.run(here, nullptr, nullptr);
  } else {
    for (const Member& member : members) queue(here, member.transfer);
  }
  return list;
}

}  // namespace tempi::pack
