// A plan: all that is known of one structure of datatype, shared by every datatype of that structure.
//
// What the GPU needs beyond kernel parameters (tables of offsets, long box lists) is uploaded at first use and kept
// here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "datatype/layout.hpp"
#include "datatype/tree.hpp"
#include "device/device.hpp"
#include "pack/contest.hpp"
#include "pack/host.hpp"
#include "pack/kernel_box.hpp"
#include "pack/launch.hpp"

namespace tempi::pack {

// Device memory that lives as long as its plan.
class DeviceCopy {
 public:
  // Copies `bytes` from host memory into the entered context; complete on return.
  DeviceCopy(device::Device& device, device::Context context, const void* data, std::size_t bytes);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  void* data() const { return data_; }

 private:
  device::Device& device_;
  device::Context context_;
  void* data_;
};

// A box list on the device, for one element of the datatype.
struct UploadedList {
  Depth depth = Depth::x1;
  device::Grid grid = {};
  std::unique_ptr<DeviceCopy> boxes, tiles;
};

// What one element costs memory: its dense runs, the bytes of the 32-byte sectors that hold the typed side, and the 4
// KiB pages; and whether offsets of its runs come from a table.
struct Traffic {
  std::int64_t blocks = 0, touched = 0, pages = 0;
  bool is_indexed = false;
};

class Plan {
 public:
  explicit Plan(datatype::TreePtr canonical);

  const datatype::TreePtr tree;
  const datatype::Layout layout;
  const Traffic traffic;

  // A list longer than kFewBoxes goes to the device once.
  bool is_long() const { return layout.boxes.size() > static_cast<std::size_t>(kFewBoxes); }

  // One element on the host, where that is a single loop: of small transfers, finding the loop is half the time.
  const std::optional<HostLoop>& host_loop(Direction direction) const {
    return direction == Direction::pack ? pack_loop_ : unpack_loop_;
  }

  // The contest about `count` elements on the host.
  Contest& contest(Direction direction, std::int64_t count) const {
    return (direction == Direction::pack ? pack_contests_ : unpack_contests_).of_count(count);
  }

  // Both upload at the first call for a context; the context must be entered.
  DeviceTable table(device::Device& device, device::Context context, const datatype::Box& box) const;
  const UploadedList& list(device::Device& device, device::Context context, Direction direction,
                           std::uintptr_t alignment) const;

  // Launches of shapes that were called before; a few shapes are kept.
  using LaunchesPtr = std::shared_ptr<const Launches>;
  LaunchesPtr find_launches(const Shape& shape) const;
  LaunchesPtr keep_launches(const Shape& shape, Launches launches) const;

 private:
  struct UploadedTable {
    std::unique_ptr<DeviceCopy> entries;
    bool narrow;
  };
  DeviceTable locked_table(device::Device& device, device::Context context, const datatype::Box& box) const;
  UploadedList upload_list(device::Device& device, device::Context context, Direction direction,
                           std::uintptr_t alignment) const;

  static constexpr std::size_t kShapesKept = 16;

  std::optional<HostLoop> pack_loop_, unpack_loop_;
  mutable Contests pack_contests_, unpack_contests_;

  mutable std::mutex mutex_;
  mutable std::deque<std::pair<Shape, LaunchesPtr>> launches_;  // newest first
  mutable std::map<std::pair<device::Context, const datatype::OffsetTable*>, UploadedTable> tables_;
  mutable std::map<std::tuple<device::Context, Direction, std::uintptr_t>, UploadedList> lists_;
};

using PlanPtr = std::shared_ptr<const Plan>;

}  // namespace tempi::pack
