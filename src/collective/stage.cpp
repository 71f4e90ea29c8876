#include "collective/stage.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "transfer/strategy.hpp"

namespace tempi::collective {
namespace {

// MPICH's MPI_Allgatherv cuts larger blocks, each rank by the extent of its own datatype (its
// MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE): where those differ, ranks fail ("Message truncated") or wait for ever.
constexpr std::int64_t kCutBytes = 32 << 10;

using device::MemoryKind;
using message::Endpoint;
using message::Message;
using model::Strategy;

// Looks at the blocks of one argument, one after the other.
class Finder {
 public:
  explicit Finder(device::Device& device) : device_(device) {}

  bool is_on_gpu(const Argument& argument, const Block& block) {
    const pack::End end = end_of(argument, block);
    if (!is_contiguous(block)) return pack::locate(end, block.count, device_).touches_gpu();
    const auto first = reinterpret_cast<std::uintptr_t>(end.at(end.layout->true_lower_bound));
    if (host_ != 0 && std::max(first, host_) - std::min(first, host_) < std::uintptr_t{pack::kKindGranularity}) {
      return false;
    }
    const bool is_there = device_.locate(reinterpret_cast<const void*>(first)).on_gpu();
    if (!is_there) host_ = first;
    return is_there;
  }

 private:
  device::Device& device_;
  std::uintptr_t host_ = 0;  // an address of host memory
};

bool library_takes_all(const Argument& argument, Handle comm) {
  if (argument.stays_on_host || !message::contiguous_is_library(comm, MPI_ANY_SOURCE)) return false;
  bool takes_all = true;
  Blocks(argument, comm).each([&](const Block& block) {
    takes_all = takes_all && block.type->is_named && is_contiguous(block);
  });
  return takes_all;
}

bool is_on_gpu(const Argument& argument, Handle comm, device::Device& device) {
  Finder finder(device);
  bool is_found = false;
  Blocks(argument, comm).each([&](const Block& block) {
    is_found = is_found || (block.role.any() && finder.is_on_gpu(argument, block));
  });
  return is_found;
}

message::Shape shape_of(const Block& block, MemoryKind kind, Handle comm) {
  const KnownType& type = *block.type;
  return {kind,
          is_contiguous(block),
          message::features_of(*type.plan, {block.count, type.extent}),
          type.plan->traffic.is_indexed,
          comm,
          MPI_ANY_SOURCE,
          type.is_moved_wrongly};
}

// Calls with a datatype for each block: libraries carry them out block by block, by their datatypes.
bool is_packed_on_host(const Argument& argument, Handle comm) {
  if (argument.types == nullptr || !message::may_pack_on_host()) return false;
  std::vector<message::Shape> shapes;
  Blocks(argument, comm).each([&](const Block& block) {
    if (block.role.any()) shapes.push_back(shape_of(block, MemoryKind::host, comm));
  });
  return message::packs_all_on_host(shapes);
}

}  // namespace

bool needs_staging(const Argument& argument, Handle comm, device::Device* device) {
  if (!argument.is_sound()) throw LeftToLibrary{};
  if (argument.n_blocks == 0) return false;
  if (library_takes_all(argument, comm)) {
    if (device != nullptr && device::calls_are_ordered()) is_on_gpu(argument, comm, *device);  // it waits for streams
    return false;
  }
  return (device != nullptr && is_on_gpu(argument, comm, *device)) || is_packed_on_host(argument, comm);
}

StagedArgument::StagedArgument(const Argument& argument, Message& message, device::Device* device) {
  place(argument, message.comm, device);
  keeps_elements_ = keeps_elements(argument);
  choose_strategy(argument, message.comm);
  const bool is_written =
      std::any_of(placed_.begin(), placed_.end(), [](const Placed& one) { return one.block.role.writes; });
  take_memory(device, message.lifetime == message::Lifetime::call ? device::Limit::none : device::Limit::pool,
              is_written ? message::kLibrarysOverrun : device::Overrun::impossible);
  add_transfers(message, device);
  give(argument);
}

void StagedArgument::place(const Argument& argument, Handle comm, device::Device* device) {
  Blocks(argument, comm).each([&](const Block& block) {
    if (argument.unit == Unit::bytes) bytes_ = aligned(bytes_);
    Placed placed{block, bytes_, end_of(argument, block)};
    if (__builtin_add_overflow(bytes_, block.bytes(), &bytes_)) throw LeftToLibrary{};
    if (block.role.any() && device != nullptr) {
      placed.end.place = pack::locate(placed.end, block.count, *device);
      memory_.serve(placed.end.place);
    }
    placed_.push_back(std::move(placed));
  });
}

// Packed elements have the extent of those without gaps.
bool StagedArgument::keeps_elements(const Argument& argument) const {
  if (argument.fidelity != Fidelity::extent || placed_.empty()) return argument.fidelity == Fidelity::kept;
  const KnownType& type = *placed_.front().block.type;  // of all blocks
  const std::int64_t widest = std::max(std::abs(type.extent), type.size());
  return type.extent != type.size() && std::any_of(placed_.begin(), placed_.end(), [&](const Placed& one) {
           return one.block.count > kCutBytes / widest;
         });
}

void StagedArgument::choose_strategy(const Argument& argument, Handle comm) {
  message::Shape shape{MemoryKind::device, false, {}, false, comm, MPI_ANY_SOURCE};
  if (!memory_.worker().on_gpu()) {
    strategy_ = Strategy::host;
    return;
  }
  for (const auto& [block, offset, end] : placed_) {
    const model::Features one = shape_of(block, MemoryKind::device, comm).features;
    shape.features.bytes += one.bytes;
    shape.features.blocks += one.blocks;
    shape.features.touched += one.touched;
    shape.features.pages += one.pages;
    shape.is_indexed = shape.is_indexed || block.type->plan->traffic.is_indexed;
  }
  const bool may_be_device = memory_.is_all_on_worker() && !keeps_elements_ && !argument.stays_on_host;
  const bool is_device = may_be_device && message::choose(shape).strategy == Strategy::device;
  strategy_ = is_device ? Strategy::device : Strategy::oneshot;
}

void StagedArgument::take_memory(device::Device* device, device::Limit limit, device::Overrun overrun) {
  const auto has_taken = [&](MemoryKind kind, device::Overrun its) {
    return memory_.take(*device, kind, bytes_, limit, its);
  };
  if (strategy_ == Strategy::device && has_taken(MemoryKind::device, device::Overrun::impossible)) return;
  if (strategy_ != Strategy::host) {
    strategy_ = Strategy::oneshot;
    if (has_taken(MemoryKind::pinned, overrun)) return;
  }
  memory_.take_ordinary(device, bytes_, overrun);
}

void StagedArgument::add_transfers(Message& message, device::Device* device) const {
  for (const auto& [block, offset, end] : placed_) {
    const auto add = [&](message::Transfers& parts, pack::Direction direction) {
      parts.add(Endpoint{direction, block.type->prepared, block.count, end, strategy_}, device, memory_.from(offset));
    };
    if (block.role.reads) add(message.outs, pack::Direction::pack);
    if (block.role.writes) add(message.ins, pack::Direction::unpack);
  }
}

void StagedArgument::give(const Argument& argument) {
  given_ = as_given(argument);
  given_.address = memory_.data();
  if (argument.unit == Unit::bytes) give_bytes(argument);
  else give_elements(argument);
}

// The blocks have one datatype.
void StagedArgument::give_elements(const Argument& argument) {
  const KnownType& type = *placed_.front().block.type;
  given_.type = library_type(argument, placed_.front().block);
  if (keeps_elements_) return give_image(type);
  if (!argument.displacements.any()) return;
  for (Placed& one : placed_) one.offset /= type.size();
  if (argument.displacements.are_ints()) write(small_, argument);
  else write(large_, argument);
}

// Displacements stay the program's. There are none where a dense datatype is kept.
void StagedArgument::give_image(const KnownType& type) {
  if (type.is_dense) {
    given_.address = memory_.data() - type.plan->layout.true_lower_bound;
    return;
  }
  std::vector<Image::Block> blocks;
  for (const auto& [block, offset, end] : placed_) {
    blocks.push_back({memory_.data() + offset, block.displacement, block.count, block.role});
  }
  given_.address = image_.emplace(type, std::move(blocks)).address();
}

// Each block has a datatype of its own; of blocks without data they are the program's.
void StagedArgument::give_bytes(const Argument& argument) {
  types_.emplace(argument);
  for (Placed& one : placed_) {
    Handle type = library_type(argument, one.block);
    if (argument.displacements.are_ints() && one.offset > INT_MAX) {
      type = own_types_.emplace_back(moved(type, one.offset))->handle();
      one.offset = 0;
    }
    types_->set(one.block.first, type);
  }
  given_.types = types_->data();
  if (argument.displacements.are_ints()) write(small_, argument);
  else write(large_, argument);
}

Handle StagedArgument::library_type(const Argument& argument, const Block& block) {
  const KnownType& type = *block.type;
  if (keeps_elements_ || (type.is_named && type.is_dense)) return argument.type_of(block.first);
  return own_types_.emplace_back(packed_element(type.size()))->handle();
}

template <class Number>
void StagedArgument::write(std::vector<Number>& displacements, const Argument& argument) {
  displacements.resize(static_cast<std::size_t>(argument.n_blocks));
  for (const Placed& one : placed_) {
    if (sizeof(Number) == sizeof(int) && one.offset > INT_MAX) {
      throw Error(
          ErrorKind::unsupported,
          "the blocks of a collective call have more elements of GPU memory than an int counts; use its _c form");
    }
    displacements[static_cast<std::size_t>(one.block.first)] = static_cast<Number>(one.offset);
  }
  given_.displacements = displacements.data();
}

}  // namespace tempi::collective
