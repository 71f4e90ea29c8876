#include "collective/node_reduction.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/trace.hpp"
#include "collective/blocks.hpp"
#include "device/staging.hpp"
#include "device/stream_order.hpp"
#include "model/strategy.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "transfer/endpoint.hpp"
#include "transport/ipc/exports.hpp"

namespace tempi::collective {
namespace {

using device::Location;
using device::MemoryKind;
using ipc::ReducedBuffer;
using ipc::ReducedBuffers;

// Votes before a call: the input is in GPU memory; this process cannot take part; the others have not mapped its
// buffers yet.
constexpr unsigned kOnGpu = 1, kImpossible = 2, kIsNew = 8;
// Votes behind it.
constexpr unsigned kFailed = 1, kIsLost = 2;

constexpr std::int64_t kSliceUnitBytes = 128;    // a line of the L2 cache
constexpr std::int64_t kLeastSliceBytes = 4096;  // smaller slices cost a launch each and save nothing
constexpr std::int64_t kLeastBroadcastBytes = 2 << 20;

// The part-th of n parts, of whole units.
struct Slice {
  Count first, count;
};
Slice slice_of(Count total, std::int64_t scalar_bytes, std::int64_t part, std::int64_t n_parts) {
  const std::int64_t units = (total * scalar_bytes + kSliceUnitBytes - 1) / kSliceUnitBytes;
  const Count length = (units + n_parts - 1) / n_parts * kSliceUnitBytes / scalar_bytes;
  const Count first = std::min(part * length, total);
  return {first, std::min(length, total - first)};
}

std::int64_t n_slices(std::int64_t bytes, std::int64_t most) {
  return std::clamp<std::int64_t>((bytes + kLeastSliceBytes - 1) / kLeastSliceBytes, 1, most);
}

std::size_t place_of_reduction(Function function) {
  return static_cast<std::size_t>(std::find(kNodeReductions.begin(), kNodeReductions.end(), function) -
                                  kNodeReductions.begin());
}

bool is_wanted() { return model::direct_is_wanted() && active() && !message::is_switched_off(); }

}  // namespace

NodeReduction::NodeReduction(Consensus& consensus) : consensus_(consensus), addresses_(consensus.size()) {}

// The parts of MPI_Reduce are those of all but the root, which the results reach over the same links as its inputs
// leave by; a pair leaves all to the root.
void NodeReduction::choose_slice(Task& task, Function function, const Group& group, const Ends& ends) {
  const std::int64_t total_bytes = task.reduced.bytes_of(task.total);
  const auto scalar_bytes = task.reduced.bytes_of(1);
  std::int64_t part = group.rank, n_parts = n_slices(total_bytes, group.size);
  if (function == Function::MPI_Reduce) {
    const bool has_helpers = group.size > 2 && n_parts > 1;
    n_parts = has_helpers ? n_slices(total_bytes, group.size - 1) : 1;
    part = (group.rank - ends.root + group.size) % group.size - (has_helpers ? 1 : 0);
    if (part < 0) part = n_parts;
  }
  const Slice slice = part < n_parts ? slice_of(task.total, scalar_bytes, part, n_parts) : Slice{0, 0};
  task.first = slice.first;
  task.count = slice.count;
}

// Nothing: no kernel does it, whoever the member is.
std::optional<NodeReduction::Task> NodeReduction::task_of(const Call& call, const Group& group,
                                                          const Ends& ends) const {
  const std::optional<Reduced> reduced = reduced_by_kernel(ends.in.type, ends.operation);
  const auto rank = static_cast<std::size_t>(group.rank);
  const bool is_root = group.rank == ends.root;
  if (!reduced || group.is_inter) return {};
  Task task{*reduced, ends.in.count, 0, 0, 0, consensus_.size(), Task::To::all, 0, ends.out.is_in_place(), true};
  switch (call.function) {
    case Function::MPI_Reduce:
      if (ends.root < 0 || ends.root >= group.size) return {};
      task.to = Task::To::root;
      task.root = static_cast<std::size_t>(ends.root);
      task.has_output = is_root;
      break;
    case Function::MPI_Reduce_scatter:
      if (!ends.results.any()) return {};
      task.to = Task::To::own;
      task.total = 0;
      for (int i = 0; i < group.size; ++i) {
        if (i == group.rank) task.first = task.total;
        task.total += ends.results[i];
      }
      task.count = ends.results[group.rank];
      break;
    case Function::MPI_Reduce_scatter_block:
      task.to = Task::To::own;
      task.count = task.total;
      task.first = task.total * group.rank;
      task.total *= group.size;
      break;
    case Function::MPI_Scan:
    case Function::MPI_Exscan:
      task.to = Task::To::own;
      task.n_inputs = rank + (call.function == Function::MPI_Scan ? 1 : 0);
      task.has_output = task.n_inputs > 0;
      task.count = task.has_output ? task.total : 0;
      break;
    default: break;
  }
  if (task.total <= 0 || task.count < 0) return {};
  if (task.to != Task::To::own) choose_slice(task, call.function, group, ends);
  return task;
}

// False: a kernel of another process cannot reach them.
bool NodeReduction::describe(const Task& task, const Ends& ends, Own& own) {
  own.input = task.is_in_place ? ends.in.address : ends.out.address;
  own.at = own.device->locate(own.input);
  device::throw_failed_wait();
  if (!own.at.on_gpu()) return false;
  own.vote |= kOnGpu;
  const auto is_usable = [&](const Location& at, const void* address, Count count) {
    return at.kind == MemoryKind::device && at.context == own.at.context && is_whole(at, address, task.reduced, count);
  };
  if (!is_usable(own.at, own.input, task.total)) return false;
  const auto input = own.device->share(own.at);
  if (!input) return false;
  ReducedBuffers buffers;
  buffers.input = buffers.output = {*input, reinterpret_cast<std::uintptr_t>(own.input)};
  message::export_memory(*own.device, own.at);
  if (task.has_output) {
    own.output = const_cast<void*>(ends.in.address);
    const Location to = own.device->locate(own.output);
    if (!is_usable(to, own.output, task.to == Task::To::own ? task.count : task.total)) return false;
    if (task.to != Task::To::own) {
      const auto output = own.device->share(to);
      if (!output) return false;
      buffers.output = {*output, reinterpret_cast<std::uintptr_t>(own.output)};
      message::export_memory(*own.device, to);
    }
  }
  publish(own, buffers);
  return true;
}

void NodeReduction::publish(const Own& own, const ReducedBuffers& buffers) {
  ReducedBuffers& last = consensus_.own_buffers();
  const bool is_same = last.input.is_same(buffers.input) && last.output.is_same(buffers.output);
  is_known_ = is_known_ && is_same && context_ == own.at.context && mappings_.hold();
  if (!is_same) last = buffers;
}

NodeReduction::Own NodeReduction::look(const Task& task, const Ends& ends) noexcept {
  Own own;
  try {
    own.device = is_wanted() ? device::current() : nullptr;
    const bool is_possible = own.device != nullptr && describe(task, ends, own);
    if (!is_possible) own.vote |= kImpossible;
    if (!is_known_) own.vote |= kIsNew;
  } catch (...) {
    warn_fallback("a reduction is done in host memory", caught_error().what());
    own.vote |= kImpossible;
  }
  return own;
}

// 0: out of reach.
std::uintptr_t NodeReduction::map(const Own& own, std::size_t member, const ReducedBuffer& buffer) {
  message::ImportPtr imported =
      message::import_memory(*own.device, own.at.context, consensus_.segment_of(member), buffer.memory);
  if (!imported) return 0;
  const std::uintptr_t address = imported->begin() + (buffer.address - buffer.memory.begin);
  mappings_.add(std::move(imported));
  return address;
}

bool NodeReduction::map_all(const Own& own) noexcept try {
  mappings_ = {};
  context_ = own.at.context;
  for (std::size_t i = 0; i < consensus_.size(); ++i) {
    const ReducedBuffers& buffers = consensus_.buffers_of(i);
    addresses_[i] = {buffers.input.address, buffers.output.address};
    if (i == consensus_.rank()) continue;
    const bool is_one = buffers.input.is_same(buffers.output);
    addresses_[i].input = map(own, i, buffers.input);
    addresses_[i].output = is_one ? addresses_[i].input : map(own, i, buffers.output);
    if (addresses_[i].input == 0 || addresses_[i].output == 0) return false;
  }
  return true;
} catch (...) {
  warn_fallback("a reduction is done in host memory", caught_error().what());
  return false;
}

// A vote: each member reaches the buffers that the others have described.
bool NodeReduction::all_reach_all(const Own& own) {
  is_known_ = (consensus_.joined(map_all(own) ? 0 : kImpossible) & kImpossible) == 0;
  return is_known_;
}

// All members take part, and reach each other's buffers.
bool NodeReduction::agree(const Own& own, Gap& gap) {
  const unsigned all = consensus_.joined(own.vote);
  bool is_agreed = (all & kOnGpu) != 0 && (all & kImpossible) == 0;
  if (is_agreed && (all & kIsNew) != 0) is_agreed = all_reach_all(own);
  if (!is_agreed) mappings_.let_go();
  gap.note_vote(!is_agreed);
  return is_agreed;
}

// Each process begins with another output: else all would write to one GPU at a time.
void NodeReduction::launch(const Task& task, const device::Scope& here, void* result) const {
  if (task.count == 0 || task.n_inputs == 0) return;
  const auto offset = static_cast<std::uintptr_t>(task.offset());
  pack::GroupReduction of{};
  of.operation = task.reduced.operation;
  of.count = static_cast<std::uint64_t>(task.count);
  of.n_inputs = static_cast<std::uint32_t>(task.n_inputs);
  for (std::size_t i = 0; i < task.n_inputs; ++i) {
    of.inputs[i] = reinterpret_cast<const char*>(addresses_[task.first_input + i].input + offset);
  }
  const auto add = [&](std::uintptr_t output) { of.outputs[of.n_outputs++] = reinterpret_cast<char*>(output); };
  const std::size_t size = consensus_.size();
  if (task.to == Task::To::all || task.to == Task::To::all_but_root) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t member = (consensus_.rank() + i) % size;
      if (task.to == Task::To::all || member != task.root) add(addresses_[member].output + offset);
    }
  } else {
    add(task.to == Task::To::root ? addresses_[task.root].output + offset : reinterpret_cast<std::uintptr_t>(result));
  }
  pack::launch_reduction(here, task.reduced.type, of);
}

// False: it has failed, and no work of it runs.
bool NodeReduction::reduce(const Task& task, const Own& own, void* result) noexcept try {
  const device::Scope here(*own.device, own.at.context);
  try {
    launch(task, here, result);
    here.finish();
  } catch (...) {
    here.settle();
    throw;
  }
  return true;
} catch (...) {
  warn_fallback("a reduction by a kernel has failed", caught_error().what());
  return false;
}

// Behind the agreement. Nothing: a kernel has failed, and the library can do the call on all members.
std::optional<int> NodeReduction::execute(const Task& task, const Own& own, const Call& call, const Group& group) {
  std::optional<device::Staging> staged;
  bool is_done = false;
  try {
    if (task.is_staged() && task.count > 0)
      staged.emplace(*own.device, own.at.context, MemoryKind::device, task.bytes());
    is_done = trace::traced("reduce", [&] { return reduce(task, own, staged ? staged->data() : own.output); });
  } catch (...) {
    warn_fallback("a reduction by a kernel has failed", caught_error().what());
  }
  const unsigned all = consensus_.joined((is_done ? 0 : kFailed) | (task.may_lose_inputs() ? kIsLost : 0));
  mappings_.let_go();
  if ((all & kFailed) != 0) {
    if ((all & kIsLost) == 0) return {};
    return raise(group.comm,
                 Error(ErrorKind::device, std::string(name(call.function)) + ": the kernel of a process has failed"));
  }
  if (staged) {
    const device::Scope here(*own.device, own.at.context);
    here.copy(own.output, staged->data(), static_cast<std::size_t>(task.bytes()));
    here.finish();
  }
  count_call(call.function, Outcome::taken_device, static_cast<std::uint64_t>(task.reduced.bytes_of(task.total)));
  return MPI_SUCCESS;
}

std::optional<int> NodeReduction::carry_out(const Call& call, const Group& group, const Ends& ends) {
  const std::optional<Task> task = task_of(call, group, ends);
  if (!task) return {};
  Gap& gap = gaps_[place_of_reduction(call.function)];
  if (gap.is_between_votes()) return {};
  const Own own = look(*task, ends);
  return agree(own, gap) ? execute(*task, own, call, group) : std::optional<int>{};
}

std::optional<NodeReduction::Broadcast> NodeReduction::plan_broadcast(const Group& group, const Ends& ends) noexcept
    try {
  if (group.size < 3 || ends.in.count <= 0 || ends.root < 0 || ends.root >= group.size) return {};
  const KnownType& type = resolve(ends.in.type, group.comm);
  const std::int64_t bytes = ends.in.count * type.size();
  if (!type.is_dense || type.lower_bound != 0 || bytes < kLeastBroadcastBytes) return {};
  const auto root = static_cast<std::size_t>(ends.root);
  const Reduced moved{pack::ScalarType::u8, pack::Operation::sum};  // of one input: a copy
  Broadcast planned{{moved, bytes, 0, 0, root, 1, Task::To::all_but_root, root, true, true}, {}};
  if (group.rank != ends.root) {
    const int part = (group.rank - ends.root - 1 + group.size) % group.size;
    const Slice slice = slice_of(bytes, 1, part, group.size - 1);
    planned.task.first = slice.first;
    planned.task.count = slice.count;
  }
  planned.own = look(planned.task, ends);
  mappings_.let_go();
  if ((planned.own.vote & kImpossible) != 0) return {};
  return planned;
} catch (...) {  // what the library refuses is told by the call
  return {};
}

std::optional<int> NodeReduction::carry_out(const Broadcast& planned, const Call& call, const Group& group) {
  if (!all_reach_all(planned.own)) return {};
  return execute(planned.task, planned.own, call, group);
}

}  // namespace tempi::collective
