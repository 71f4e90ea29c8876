// The caches of a plan: uploads and launches for each context, and contests. They are destroyed with the plan.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "pack/contest.hpp"
#include "pack/kernel_box.hpp"
#include "pack/launch.hpp"
#include "pack/plan.hpp"

namespace tempi::pack {

// Device memory that lives as long as its cache.
class DeviceCopy {
 public:
  // Copies `bytes` from host memory into the entered context; complete on return.
  DeviceCopy(const device::Scope& here, const void* data, std::size_t bytes);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  void* data() const { return data_; }

 private:
  device::Device& device_;
  device::Context context_;
  void* data_;
};

// A box list on the device, for one element.
struct UploadedList {
  Depth depth = Depth::x1;
  device::Grid grid = {};
  std::unique_ptr<DeviceCopy> boxes, tiles;
};

// The shape of a call: calls of one shape share their launches.
struct Shape {
  device::Context context;
  const Mapping* mapping;
  std::uintptr_t alignment;  // low bits of both addresses, or-ed
  std::int64_t count;
  Ends<std::int64_t> extents;

  bool operator==(const Shape&) const = default;
};

// Thread-safe.
class LaunchCache {
 public:
  // Both functions upload the data at the first call for a context, and forget the uploads of contexts that have ended.
  DeviceTable table(const device::Scope& here, const datatype::Box& box);
  const UploadedList& list(const device::Scope& here, const Mapping& mapping, std::uintptr_t alignment);

  // The launches of the most recent shapes.
  using LaunchesPtr = std::shared_ptr<const Launches>;
  LaunchesPtr find(const Shape& shape);
  LaunchesPtr keep(const Shape& shape, Launches launches);

 private:
  struct UploadedTable {
    std::unique_ptr<DeviceCopy> entries;
    bool narrow;
  };
  DeviceTable locked_table(const device::Scope& here, const datatype::Box& box);
  UploadedList upload_list(const device::Scope& here, const Mapping& mapping, std::uintptr_t alignment);
  void forget_ended(const device::Scope& here);

  static constexpr std::size_t kShapesKept = 16;

  Mutex<Lock::plan_cache> mutex_;
  std::deque<std::pair<Shape, LaunchesPtr>> launches_;  // newest first
  std::map<std::pair<device::Context, const datatype::OffsetTable*>, UploadedTable> tables_;
  std::map<std::tuple<device::Context, const Mapping*, std::uintptr_t>, UploadedList> lists_;
};

// A plan with its caches. The datatypes with this structure and the pending messages share it.
struct Prepared {
  explicit Prepared(datatype::TreePtr canonical) : plan(std::move(canonical)) {}

  // The contest about `count` elements on the host.
  Contest& contest(Direction direction, std::int64_t count) {
    return contests[static_cast<std::size_t>(direction)].of_count(count);
  }

  const Plan plan;
  LaunchCache launches;
  std::array<Contests, 2> contests;  // by direction
};
using PreparedPtr = std::shared_ptr<Prepared>;

}  // namespace tempi::pack
