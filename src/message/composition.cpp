#include "message/composition.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "datatype/compose.hpp"

namespace tempi::message {
namespace {

using datatype::Box;
using datatype::Boxes;
using mailbox::OfferedBox;

constexpr std::size_t kKept = 256;
constexpr std::size_t kMostBoxes = 1024;  // of an offered layout

// The last values, newest first.
template <class Ptr>
class Kept {
 public:
  template <class Is, class Make>
  Ptr get(const Is& is_it, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (known != kept_.end()) return *known;
    kept_.push_front(make());
    if (kept_.size() > kKept) kept_.pop_back();
    return kept_.front();
  }

 private:
  std::mutex mutex_;
  std::deque<Ptr> kept_;
};

OfferedBox offered(const Box& box) {
  return {box.src_offset, box.dst_offset, box.block_bytes, box.n_dims, box.dims};
}

Box regular(const OfferedBox& box) {
  Box found;
  found.src_offset = box.src_offset;
  found.dst_offset = box.dst_offset;
  found.block_bytes = box.block_bytes;
  found.n_dims = std::clamp(box.n_dims, 0, datatype::kMaxBoxDims);
  found.dims = box.dims;
  return found;
}

std::vector<OfferedBox> offered_boxes(const Boxes& boxes) {
  const bool is_irregular = std::any_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.table != nullptr; });
  std::vector<OfferedBox> all;
  if (is_irregular || boxes.size() > kMostBoxes) return all;
  for (const Box& box : boxes) all.push_back(offered(box));
  return all;
}

struct Numbered {
  BufferLayout layout;
  OfferedLayoutPtr offered;
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Boxes BufferLayout::boxes() const {
  const datatype::Layout& one = prepared->plan.layout;
  return datatype::repeated(one.boxes, count, extent, one.size);
}

OfferedLayoutPtr offered_layout(const BufferLayout& layout) {
  static auto& kept = *new Kept<std::shared_ptr<const Numbered>>;
  const auto found = kept.get([&](const auto& one) { return one->layout == layout; }, [&] {
    return std::make_shared<const Numbered>(Numbered{
        layout, std::make_shared<const OfferedLayout>(OfferedLayout{next_number(), offered_boxes(layout.boxes())})});
  });
  return found->offered;
}

Boxes boxes_of(const mailbox::Contents& there, const mailbox::Slot& slot) {
  const std::size_t end = std::min<std::size_t>(mailbox::kBoxes, std::size_t{slot.first_box} + slot.n_boxes);
  Boxes boxes;
  for (std::size_t i = slot.first_box; i < end; ++i) boxes.push_back(regular(there.boxes[i]));
  return boxes;
}

Composed::Composed(BufferLayout sent, LayoutName received, const Boxes& received_boxes)
    : from(std::move(sent)),
      to(received),
      span(pack::span_of(received_boxes)),
      far{.boxes = received_boxes},
      boxes(datatype::composed(from.boxes(), received_boxes)) {
  if (boxes) mapping.emplace(*boxes, pack::Mapping::Sense::written);
}

ComposedPtr composition(const BufferLayout& from, const LayoutName& to, FunctionRef<Boxes()> received_boxes) {
  static auto& kept = *new Kept<ComposedPtr>;
  return kept.get([&](const ComposedPtr& one) { return one->to == to && one->from == from; },
                  [&] { return std::make_shared<Composed>(from, to, received_boxes()); });
}

}  // namespace tempi::message
