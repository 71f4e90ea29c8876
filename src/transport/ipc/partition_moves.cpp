#include "transport/ipc/partition_moves.hpp"

#include <algorithm>

#include "datatype/cut.hpp"

namespace tempi::message {
namespace {

using datatype::Box;
using datatype::Boxes;
using datatype::Dim;

constexpr std::size_t kMostPlaced = 8192, kMostComposed = 512;

bool is_same(const Box& one, const Box& other) {
  const auto are_same = [](const Dim& a, const Dim& b) {
    return a.count == b.count && a.src_stride == b.src_stride && a.dst_stride == b.dst_stride;
  };
  return one.src_offset == other.src_offset && one.dst_offset == other.dst_offset &&
         one.block_bytes == other.block_bytes && one.n_dims == other.n_dims && one.table == other.table &&
         one.table_dim == other.table_dim && one.table_side == other.table_side &&
         std::equal(one.dims.begin(), one.dims.begin() + one.n_dims, other.dims.begin(), are_same);
}

bool are_same(const Boxes& some, const Boxes& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), is_same);
}

}  // namespace

PartitionMoves::PartitionMoves(const PackedBuffer& sent, int n_partitions, PartitionsTarget target)
    : sent_(sent),
      n_partitions_(n_partitions),
      elements_(sent.box_move().count / n_partitions),
      target_(std::move(target)) {}

bool PartitionMoves::are_complete() {
  for (int i = 0; i < n_partitions_; ++i) {
    if (!find({i, 1})) return false;
  }
  return true;
}

pack::End PartitionMoves::sent_from(const PartitionRun& run) const {
  pack::End end = sent_.box_move().laid_out();
  end.address = end.at(run.first * elements_ * end.extent);
  return end;
}

std::optional<PartitionMove> PartitionMoves::find(const PartitionRun& run) {
  if (placed_.size() >= kMostPlaced) placed_.clear();
  const std::pair key{run.first, run.n};
  auto known = placed_.find(key);
  if (known == placed_.end()) known = placed_.emplace(key, place(run)).first;
  const auto& [composed, shift] = known->second;
  if (!composed) return {};
  const auto to = target_.address + static_cast<std::uint64_t>(shift);
  const pack::End end{reinterpret_cast<void*>(to), 0, &composed->far, {target_.memory}};
  return PartitionMove{composed, pack::BoxMove{&*composed->mapping, &composed->launches, 1, composed->from.bytes(),
                                               sent_from(run), end}};
}

PartitionMoves::Placed PartitionMoves::place(const PartitionRun& run) {
  const std::int64_t bytes = sent_.bytes() / n_partitions_;
  std::optional<Boxes> received =
      datatype::bytes_between(target_.boxes, run.first * bytes, (run.first + run.n) * bytes);
  if (!received || received->empty()) return {nullptr, 0};
  const std::int64_t shift = received->front().src_offset;
  for (Box& box : *received) box.src_offset -= shift;
  ComposedLayoutPtr composed = composed_for(run, std::move(*received));
  return {composed->mapping ? std::move(composed) : nullptr, shift};
}

ComposedLayoutPtr PartitionMoves::composed_for(const PartitionRun& run, Boxes received) {
  const BufferLayout from{sent_.prepared(), run.n * elements_, sent_.box_move().laid_out().extent};
  const auto is_it = [&](const ComposedLayoutPtr& one) {
    return one->from.count == from.count && are_same(one->far.boxes, received);
  };
  const auto known = std::find_if(composed_.begin(), composed_.end(), is_it);
  if (known != composed_.end()) return *known;
  if (composed_.size() >= kMostComposed) composed_.clear();
  return composed_.emplace_back(
      std::make_shared<ComposedLayout>(from, LayoutName{}, MovedBuffer{}, std::move(received)));
}

}  // namespace tempi::message
