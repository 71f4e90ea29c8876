#include "collective/stream_reduction.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "collective/blocks.hpp"
#include "device/kept_until.hpp"

namespace tempi::collective {
namespace {

using To = ReductionTask::To;

// MPI_Scan and MPI_Exscan keep the inputs of all processes before.
constexpr std::int64_t kMostBytesOfPrefix = 64 << 20;

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t aligned_up(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Memory of freed requests that queued kernels use.
device::KeptUntil& used_memory() {
  static auto& kept = *new device::KeptUntil;  // never destroyed: kernels may run while the process exits
  return kept;
}

// The steps of both rounds, and their memory.
class Plan {
 public:
  explicit Plan(const StreamReductionCall& call)
      : call_(call),
        task_(call.task),
        own_(call.members.slices[call.rank]),
        size_(call.members.slices.size()),
        type_(resolve(call.type, comm_null())),
        places_(size_) {
    // The kernel would overwrite its own input in another place.
    sends_to_itself_ = task_.is_in_place && task_.to == To::own && own_.first != 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (uses(call.rank, i) && arrives(i)) places_[i] = take(own_.count);
    }
    if (own_.count > 0 && call.output == nullptr) result_ = take(own_.count);
  }

  std::int64_t bytes() const { return bytes_; }

  Steps inputs(void* memory) const {
    Steps steps{call_.input, memory};
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t to = (call_.rank + i) % size_, from = (call_.rank + size_ - i) % size_;
      const bool is_moved = i != 0 || sends_to_itself_;
      if (is_moved && uses(to, call_.rank)) steps.outs.push_back(step(to, offset_of(to), call_.members.slices[to]));
      if (is_moved && uses(call_.rank, from)) steps.ins.push_back(step(from, places_[from], own_));
    }
    return steps;
  }

  Steps results(void* memory) const {
    Steps steps{call_.output != nullptr ? call_.output : memory, call_.output};
    if (!call_.members.are_in_two_steps) return steps;
    const std::int64_t from = call_.output != nullptr ? offset_of(call_.rank) : result_;
    for (std::size_t i = 1; i < size_; ++i) {
      const std::size_t member = (call_.rank + i) % size_;
      const Slice& slice = call_.members.slices[member];
      if (has_output(member) && own_.count > 0) steps.outs.push_back(step(member, from, own_));
      if (has_output(call_.rank) && slice.count > 0) steps.ins.push_back(step(member, offset_of(member), slice));
    }
    return steps;
  }

  // Nothing: this process reduces nothing, or its own input is the result in its place.
  std::optional<pack::TypedReduction> reduction(const char* memory) const {
    pack::TypedReduction reduction{task_.reduced.type, {}};
    pack::GroupReduction& of = reduction.of;
    of.operation = task_.reduced.operation;
    of.count = static_cast<std::uint64_t>(own_.count);
    of.n_outputs = 1;
    const auto* const input = static_cast<const char*>(call_.input);
    for (std::size_t i = 0; i < size_; ++i) {
      if (uses(call_.rank, i))
        of.inputs[of.n_inputs++] = arrives(i) ? memory + places_[i] : input + offset_of(call_.rank);
    }
    auto* const output = static_cast<char*>(call_.output);
    const std::int64_t offset = task_.to == To::own ? 0 : offset_of(call_.rank);
    of.outputs[0] = output != nullptr ? output + offset : const_cast<char*>(memory) + result_;
    const bool is_copy_to_itself = of.n_inputs == 1 && of.inputs[0] == of.outputs[0];
    return of.count > 0 && !is_copy_to_itself ? std::optional(reduction) : std::nullopt;
  }

 private:
  bool uses(std::size_t member, std::size_t input) const { return call_.members.uses(member, input); }
  bool arrives(std::size_t input) const { return input != call_.rank || sends_to_itself_; }
  bool has_output(std::size_t member) const { return task_.to != To::root || member == task_.root; }
  std::int64_t offset_of(std::size_t member) const {
    return task_.reduced.bytes_of(call_.members.slices[member].first);
  }

  std::int64_t take(Count count) {
    const std::int64_t place = bytes_;
    bytes_ += aligned_up(task_.reduced.bytes_of(count));
    return place;
  }

  Step step(std::size_t peer, std::int64_t displacement, const Slice& slice) const {
    return {static_cast<int>(peer), displacement, slice.count, call_.type, type_.prepared, type_.extent};
  }

  const StreamReductionCall& call_;
  const ReductionTask& task_;
  const Slice own_;
  const std::size_t size_;
  const KnownType& type_;
  bool sends_to_itself_ = false;
  std::vector<std::int64_t> places_;  // of the inputs that arrive, in the memory
  std::int64_t result_ = 0, bytes_ = 0;
};

// The kernel that also reduces is slow for large sends.
bool are_small(const SlicesOfMembers& members, pack::TypedReduction reduction) {
  for (const Slice& slice : members.slices) {
    reduction.of.count = static_cast<std::uint64_t>(slice.count);
    if (!pack::prepared_for_one_block(reduction)) return false;
  }
  return true;
}

std::vector<Slice> blocks_of(const ReductionTask& task, const Group& group, const Ends& ends) {
  std::vector<Slice> blocks;
  Count first = 0;
  for (int i = 0; i < group.size; ++i) {
    blocks.push_back({first, ends.results.any() ? ends.results[i] : task.total / group.size});
    first += blocks.back().count;
  }
  return blocks;
}

}  // namespace

SlicesOfMembers::SlicesOfMembers(const ReductionTask& task, Function function, const Group& group, const Ends& ends,
                                 bool in_two_steps)
    : slices(static_cast<std::size_t>(group.size)),
      is_prefix(blocking_form(function) == Function::MPI_Scan || blocking_form(function) == Function::MPI_Exscan),
      is_exclusive(blocking_form(function) == Function::MPI_Exscan) {
  if (task.to == To::own && !is_prefix) {
    slices = blocks_of(task, group, ends);
    return;
  }
  are_in_two_steps = !is_prefix && in_two_steps;
  ReductionTask part = task;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (are_in_two_steps) {
      take_part(part, static_cast<std::int64_t>(i), group.size);
      slices[i] = {part.first, part.count};
    } else if ((task.to != To::root || i == task.root) && !(is_exclusive && i == 0)) {
      slices[i] = {0, task.total};
    }
  }
}

bool may_be_on_stream(const StreamReductionCall& call) {
  const auto size = static_cast<std::int64_t>(call.members.slices.size());
  return !call.members.is_prefix || call.task.total_bytes() * (size - 1) <= kMostBytesOfPrefix;
}

StreamReduction::StreamReduction(const StreamReductionCall& call, std::shared_ptr<OwnComm> comm, int tag)
    : comm_(std::move(comm)),
      device_(device::current()),
      input_at_(call.input_at),
      output_at_(call.output_at),
      has_output_(call.output != nullptr) {
  const Plan plan(call);
  if (plan.bytes() > 0)
    memory_ = std::make_shared<device::Staging>(*device_, context(), device::MemoryKind::device, plan.bytes());
  void* const memory = memory_ ? memory_->data() : nullptr;
  reduction_ = plan.reduction(static_cast<const char*>(memory));
  if (reduction_ && are_small(call.members, *reduction_)) in_exchange_ = pack::prepared_for_one_block(*reduction_);
  rounds_[0].emplace(real_pmpi(), comm_->handle, plan.inputs(memory), device::Limit::none, tag);
  rounds_[1].emplace(real_pmpi(), comm_->handle, plan.results(memory), device::Limit::none, tag + 1);
  for (auto& round : rounds_) {
    if (!round->may_be_repeated()) throw Error(ErrorKind::internal, "a reduction on a stream needs GPU memory");
    if (const int code = round->make(); code != MPI_SUCCESS) throw Refused{code};
  }
}

StreamReduction::~StreamReduction() {
  if (!memory_ || device_->has_ended(context())) return;
  if (is_in_graph_) used_memory().keep_for_ever(memory_);
  else if (last_use_) used_memory().keep(last_use_, memory_);
}

bool StreamReduction::has_buffers() const {
  return device_->exists(input_at_) && (!has_output_ || device_->exists(output_at_));
}

void StreamReduction::queue_kernels(std::size_t round, const device::Scope& stream, device::StreamHandle handle,
                                    bool is_reduced) {
  const bool is_captured = stream.is_capturing();
  if (is_captured) is_in_graph_ = true;
  else if (round == 0 && last_use_ && last_ != handle) stream.wait_for(*last_use_);
  if (round == 1 && reduction_ && !is_reduced) pack::launch_reduction(stream, *reduction_);
  if (round < rounds_.size() || is_captured) return;
  last_ = handle;
  last_use_ = stream.mark();
}

}  // namespace tempi::collective
