#include "collective/member_buffers.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/stream_order.hpp"
#include "model/strategy.hpp"
#include "mpi/active.hpp"
#include "sharing/exports.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

using device::Location;
using device::MemoryKind;
using ipc::ReducedBuffer;
using ipc::ReducedBuffers;
using To = ReductionTask::To;

bool is_wanted() { return model::direct_is_wanted() && active() && !message::is_switched_off(); }

bool is_usable(const OwnBuffers& own, const Location& at, const ReductionTask& task, const void* address, Count count) {
  return at.kind == MemoryKind::device && at.context == own.at.context && is_whole(at, address, task.reduced, count);
}

// Nothing: no other process maps it.
std::optional<ReducedBuffer> exported(const OwnBuffers& own, const Location& at, const void* address) {
  const auto shared = own.device->share(at);
  if (!shared) return {};
  message::export_memory(*own.device, at);
  return ReducedBuffer{*shared, reinterpret_cast<std::uintptr_t>(address)};
}

// False: a kernel of another process cannot reach them.
bool describe(const ReductionTask& task, const void* sent, const void* received, OwnBuffers& own) {
  own.input = task.is_in_place ? received : sent;
  own.at = own.device->locate(own.input);
  device::throw_failed_wait();
  if (!own.at.on_gpu()) return false;
  own.vote |= ReductionVote::on_gpu;
  if (!is_usable(own, own.at, task, own.input, task.total)) return false;
  const std::optional<ReducedBuffer> input = exported(own, own.at, own.input);
  if (!input) return false;
  own.described = {*input, *input};
  if (!task.has_output) return true;
  own.output = const_cast<void*>(received);
  const Location to = own.device->locate(own.output);
  if (!is_usable(own, to, task, own.output, task.has_own_output() ? task.count : task.total)) return false;
  if (task.to == To::own) return true;
  const std::optional<ReducedBuffer> output = exported(own, to, own.output);
  if (output) own.described.output = *output;
  return output.has_value();
}

}  // namespace

OwnBuffers look_at_buffers(const ReductionTask& task, const void* sent, const void* received) noexcept {
  OwnBuffers own;
  try {
    own.device = is_wanted() ? device::current() : nullptr;
    if (own.device == nullptr || !describe(task, sent, received, own)) own.vote |= ReductionVote::impossible;
  } catch (...) {
    warn_fallback("a reduction is done in host memory", caught_error().what());
    own.vote |= ReductionVote::impossible;
  }
  return own;
}

bool is_finished(const OwnBuffers& own, FunctionRef<void(const device::Scope& here)> queue) noexcept try {
  const device::Scope here(*own.device, own.at.context);
  try {
    queue(here);
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

bool MemberBuffers::publish(const OwnBuffers& own, ReducedBuffers& last) {
  const bool is_same = last.input.is_same(own.described.input) && last.output.is_same(own.described.output);
  is_known_ = is_known_ && is_same && context_ == own.at.context && mappings_.hold();
  if (!is_same) last = own.described;
  return is_known_;
}

// 0: out of reach.
std::uintptr_t MemberBuffers::map(const OwnBuffers& own, std::size_t member, const ReducedBuffer& buffer) {
  message::ImportPtr imported =
      message::import_memory(*own.device, own.at.context, consensus_.segment_of(member), buffer.memory);
  if (!imported) return 0;
  const std::uintptr_t address = imported->begin() + (buffer.address - buffer.memory.begin);
  mappings_.add(std::move(imported));
  return address;
}

bool MemberBuffers::map_all(const OwnBuffers& own, Described described) noexcept try {
  mappings_ = {};
  context_ = own.at.context;
  for (std::size_t i = 0; i < consensus_.size(); ++i) {
    const ReducedBuffers& buffers = described(i);
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

unsigned MemberBuffers::published(const OwnBuffers& own, ReducedBuffers& last) {
  if ((own.vote & ReductionVote::impossible) != 0) return own.vote;
  return own.vote | (publish(own, last) ? 0 : ReductionVote::is_new);
}

bool MemberBuffers::all_reach_all(const OwnBuffers& own, Described described, Joined joined) {
  const bool has_mapped = map_all(own, described);
  const bool have_all_mapped = (joined(has_mapped ? 0 : ReductionVote::impossible) & ReductionVote::impossible) == 0;
  note_mapped(have_all_mapped);
  return have_all_mapped;
}

bool MemberBuffers::all_reach_all(const OwnBuffers& own, Joined joined) {
  return all_reach_all(
      own, [&](std::size_t member) -> const ReducedBuffers& { return consensus_.buffers_of(member); }, joined);
}

bool MemberBuffers::agree(const OwnBuffers& own, ReducedBuffers& last, Joined joined) {
  const unsigned all = joined(published(own, last));
  bool is_agreed = are_by_kernels(all);
  if (is_agreed && (all & ReductionVote::is_new) != 0) is_agreed = all_reach_all(own, joined);
  if (!is_agreed) let_go();
  return is_agreed;
}

void MemberBuffers::spread(const Reduced& reduced, const device::Scope& here, const void* from, Count count,
                           std::span<const Target> targets) const {
  if (count == 0 || targets.empty()) return;
  pack::GroupReduction of{};
  of.operation = reduced.operation;  // of one input: a copy
  of.count = static_cast<std::uint64_t>(count);
  of.n_inputs = 1;
  of.inputs[0] = static_cast<const char*>(from);
  for (const auto& [member, offset] : targets) {
    of.outputs[of.n_outputs++] =
        reinterpret_cast<char*>(addresses_[member].output + static_cast<std::uintptr_t>(offset));
  }
  pack::launch_reduction(here, {reduced.type, of});
}

// Each process begins with another output: else all would write to one GPU at a time.
void MemberBuffers::launch(const ReductionTask& task, const device::Scope& here, void* result) const {
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
  if (task.to == To::all || task.to == To::all_but_root) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t member = (consensus_.rank() + i) % size;
      if (task.to == To::all || member != task.root) add(addresses_[member].output + offset);
    }
  } else {
    add(task.to == To::root ? addresses_[task.root].output + offset : reinterpret_cast<std::uintptr_t>(result));
  }
  pack::launch_reduction(here, {task.reduced.type, of});
}

}  // namespace tempi::collective
