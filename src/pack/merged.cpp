#include "pack/merged.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "pack/aligned_rows.hpp"
#include "pack/cache.hpp"
#include "pack/kernels.hpp"
#include "pack/mixed_tiles.hpp"
#include "pack/mover.hpp"
#include "pack/tuning.hpp"
#include "pack/woven.hpp"

namespace tempi::pack {
namespace {

using device::Scope;

// A member, by all that its boxes depend on; one owner is of one process. The owner is kept: its mapping's address is
// not used again meanwhile.
struct Key {
  std::shared_ptr<const void> owner;
  const Mapping* mapping;
  std::int64_t count;
  Ends<std::int64_t> extents;
  Ends<const void*> addresses;

  explicit Key(const Member& of)
      : owner(*of.owner),
        mapping(of.box_move->mapping),
        count(of.box_move->count),
        extents{of.box_move->source.extent, of.box_move->destination.extent},
        addresses{of.box_move->source.address, of.box_move->destination.address} {}
  bool is_of(const Member& member) const {
    const BoxMove& its = *member.box_move;
    return owner == *member.owner && mapping == its.mapping && count == its.count &&
           extents == Ends<std::int64_t>{its.source.extent, its.destination.extent} &&
           addresses == Ends<const void*>{its.source.address, its.destination.address};
  }
};
using Keys = std::vector<Key>;

struct List {
  device::Context context;
  Keys keys;
  Launch launch{};
  std::unique_ptr<DeviceCopy> boxes{}, tiles{};  // none at the first time
};
using ListPtr = std::shared_ptr<List>;

bool are_of(const Keys& keys, const std::vector<Member>& members) {
  return std::equal(keys.begin(), keys.end(), members.begin(), members.end(),
                    [](const Key& key, const Member& member) { return key.is_of(member); });
}

bool is_remote(const KernelBox& box, const std::vector<Member>& members) {
  const auto is_there = [&](const Member& member) {
    const device::Location& to = member.box_move->destination.place.first;
    const auto at = static_cast<std::uintptr_t>(box.dst_offset);
    return member.is_remote && at >= to.begin && at < to.end;
  };
  return std::any_of(members.begin(), members.end(), is_there);
}

void make(const Scope& here, const std::vector<Member>& members, List& list) {
  std::vector<KernelBox> boxes;
  for (const Member& member : members) add_kernel_boxes(here, *member.box_move, boxes);
  boxes = woven(boxes);
  for (KernelBox& box : boxes) {
    if (is_remote(box, members)) box = with_aligned_rows(box);
  }
  const auto [kernel, depth, word_bytes] = kernel_of_list(boxes);
  std::vector<std::uint32_t> tiles_of_boxes;
  for (const KernelBox& box : boxes) tiles_of_boxes.push_back(tiles_of(box, depth, tuning()[Knob::threads]));
  const std::vector<TileOfList> tiles = mixed_tiles(tiles_of_boxes);
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

// False: the GPU has no memory for the list.
bool is_made(const Scope& here, const std::vector<Member>& members, List& list) try {
  make(here, members, list);
  return true;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::no_memory) throw;
  return false;
}

// The sets of moves that came last.
class Lists {
 public:
  // Null: the set is new, or the GPU has no memory for its list.
  ListPtr find_or_remember(const Scope& here, const std::vector<Member>& members) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const ListPtr& list) {
      return list->context == here.context() && are_of(list->keys, members);
    };
    const auto known = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (known == kept_.end()) {
      kept_.push_front(std::make_shared<List>(List{here.context(), Keys(members.begin(), members.end())}));
      if (kept_.size() > kKept) kept_.pop_back();
      return nullptr;
    }
    std::rotate(kept_.begin(), known, known + 1);
    List& list = *kept_.front();
    return list.boxes || is_made(here, members, list) ? kept_.front() : nullptr;
  }

 private:
  static constexpr std::size_t kKept = 64;

  Mutex<Lock::merged_lists> mutex_;
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
    for (const Member& member : members) queue(here, *member.box_move);
  }
  return list;
}

}  // namespace tempi::pack
